"""Everything that is not the user's own browser on the page's own pages is refused, and costs nothing."""

import json
import os
import stat

import pytest

from dpmondrian.accounts import Budget

pytestmark = pytest.mark.slow

CANARY = "987654.321"
SCRIPT = "<script>window.pwned=1</script>"


@pytest.fixture
def prepared(serve, people, tmp_path):
    """Return a server, its user, and a clustering that one post would release; a secret lies beside the folder."""
    server = serve("--largest-drop", "1MB")
    people(server.folder / "people.csv", 300)
    (tmp_path / "secret.csv").write_text(f"age\n{CANARY}\n")
    (server.folder / "way-out.csv").symlink_to(tmp_path / "secret.csv")
    Budget.create(server.folder / "budget.json", 3.0, 1e-6)
    user = server.user()
    work = user.chosen("people.csv")
    user.post(f"{work}/columns", {"kind-0": "number", "lower-0": "0", "upper-0": "120", "kind-1": "ignore"})
    user.post(f"{work}/plan", {"epsilon": "1"})
    assert user.post(f"{work}/account", {"how": "old", "path": "budget.json"})[1]["location"] == f"{work}/run"
    return server, user, work


def attacks(server, user, work):
    """Yield what is tried, the status that refuses it, and the answer."""
    cookie, origin, run = {"Cookie": user.cookie}, {"Origin": server.origin}, f"{work}/run"
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    body = "out=stolen"

    def post(**headers):
        return server.ask(run, "POST", body, **{**form, **headers})

    yield "no cookie", 403, server.ask("/")
    yield "no cookie, static file", 403, server.ask("/static/web.js")
    yield "no cookie, run", 403, post(**origin)
    yield "wrong cookie", 403, post(**origin, Cookie=f"dpm-{server.port}=guess")
    yield "broken cookie", 403, post(**origin, Cookie="\x01=;;==")
    yield "replayed token", 403, server.ask(server.token_path)
    yield "guessed token", 403, server.ask("/open/guess")
    yield "host of an attacker (DNS rebinding)", 421, server.ask("/", Host=f"evil.example:{server.port}", **cookie)
    yield "host without port", 421, server.ask("/", Host="127.0.0.1", **cookie)
    yield "host of an attacker, run", 421, post(Host="evil.example", Origin="http://evil.example", **cookie)
    yield "post from another site", 403, post(Origin="http://evil.example", **cookie)
    yield "post from another port", 403, post(Origin="http://127.0.0.1:1", **cookie)
    yield "post of a sandbox", 403, post(Origin="null", **cookie)
    yield "post without origin", 403, post(**cookie)
    yield "post that a browser calls cross-site", 403, post(**origin, **cookie, Sec_Fetch_Site="cross-site")
    yield "picture on another site", 403, server.ask(f"{work}/report", Sec_Fetch_Site="cross-site", **cookie)
    yield "reading as another origin", 403, server.ask("/", Origin="http://evil.example", **cookie)
    for path in ("../secret.csv", "/etc/passwd", "way-out.csv", "people.csv/../../secret.csv", "~/x.csv", "\0", ""):
        yield f"path {path!r}", 400, user.post("/choose", {"path": path})
    yield "folder above", 400, user.get("/?folder=..")
    yield "folder above, encoded", 400, user.get("/?folder=%2e%2e%2f%2e%2e%2fetc")
    yield "static file above", 404, user.get("/static/..%2fguard.py")
    yield "another file of the results", 404, user.get(f"{work}/get/..%2f..%2fsecret.csv")
    yield "codes elsewhere", 400, user.post(f"{work}/columns", {"list": "0", "codes-0": "../secret.csv"})
    yield "codes of the table", 400, user.post(f"{work}/columns", {"list": "0", "codes-0": "people.csv"})
    yield "page that is none", 404, user.get("/nowhere")
    yield "schema elsewhere", 400, user.post(f"{work}/schema", {"schema": "../../secret.csv"})
    yield "results elsewhere", 400, user.post(run, {"out": "../stolen"})
    yield "budget elsewhere", 400, user.post(f"{work}/account", {"how": "new", "new-path": "../b.json", "epsilon": "9"})
    yield "clustering elsewhere", 404, user.get("/w/..%2f..%2fetc/columns")
    yield "large upload", 413, user.drop("big.csv", b"a\n" * 600_000)
    yield "large upload that lies", 413, user.drop("big.csv", b"x", Content_Length=str(10**12))
    yield "large form", 413, user.post(f"{work}/columns", {"kind-0": "x" * 2**21})
    yield "upload from another site", 403, user.drop("a.csv", b"a\n1\n", Origin="http://evil.example")
    yield "upload that is no table", 400, user.drop("..%2f..%2fx.sh", b"rm -rf /\n")


def test_attacks_are_refused_and_cost_nothing(prepared):
    server, user, work = prepared
    before = sorted(os.listdir(server.folder)), sorted(os.listdir(server.state))
    tried = 0
    for name, status, answer in attacks(server, user, work):
        assert answer[0] == status, (name, answer)
        assert answer[1]["content-security-policy"].startswith("default-src 'none'"), name
        assert CANARY not in answer[2], name
        tried += 1
    assert tried >= 20
    assert (sorted(os.listdir(server.folder)), sorted(os.listdir(server.state))) == before
    assert Budget(server.folder / "budget.json").read().entries == ()
    assert user.get(f"{work}/progress")[2].startswith('{"state":"new"')


def test_names_of_columns_are_text(prepared):
    server, user, _ = prepared
    hostile = [SCRIPT, '"><img src=x onerror=alert(1)>', "{{ 777 * 1001 }}", "' autofocus onfocus='x"]
    (server.folder / "hostile.csv").write_text(
        ",".join('"' + name.replace('"', '""') + '"' for name in hostile) + "\n1,2,3,4\n"
    )
    work = user.chosen("hostile.csv")
    described = {f"kind-{n}": "number" for n in range(4)}
    described |= {f"lower-{n}": "0" for n in range(4)} | {f"upper-{n}": "9" for n in range(4)}
    described |= {"unit-0": SCRIPT}
    assert user.post(f"{work}/columns", described)[0] == 303
    for step in ("columns", "plan", "account", "run", "bounds"):
        status, headers, page = user.get(f"{work}/{step}")
        assert status == 200
        assert not any(name in page for name in (SCRIPT, "<img", "777777", "onfocus='x"))
        assert "unsafe-inline" not in headers["content-security-policy"]


def test_only_this_machine_and_only_this_user(prepared):
    server, _, _ = prepared
    with open("/proc/net/tcp", encoding="ascii") as sockets:
        listening = [line.split()[1] for line in sockets if line.split()[3] == "0A"]
    assert [address for address in listening if address.endswith(f":{server.port:04X}")] == [
        f"0100007F:{server.port:04X}"
    ]
    for path in [server.state, *server.state.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_dropped_file_is_private_and_goes_with_its_clustering(prepared):
    server, user, _ = prepared
    status, _, text = user.drop("mine.csv", f"age\n{CANARY}\n".encode())
    assert status == 200
    work = json.loads(text)["next"].removesuffix("/columns")
    copies = list(server.state.rglob("mine.csv"))
    assert len(copies) == 1
    assert stat.S_IMODE(copies[0].stat().st_mode) == 0o600
    assert CANARY not in user.get(f"{work}/columns")[2]
    user.post(f"{work}/remove")
    assert list(server.state.rglob("mine.csv")) == []
