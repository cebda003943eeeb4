"""``python -m dpmondrian_lab.peers.synthetic``: make the environment of the synthetic data."""

import subprocess

from dpmondrian_lab.peers.synthetic.environment import environment_python, make_environment

if __name__ == "__main__":
    try:
        make_environment()
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"There will be no synthetic data: its environment could not be made. {error}") from None
    print(f"Synthetic data comes from {environment_python()}.")
