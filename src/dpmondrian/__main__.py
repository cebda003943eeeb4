"""``python -m dpmondrian`` is ``dpm``."""

from dpmondrian.cli.main import main

if __name__ == "__main__":
    main()
