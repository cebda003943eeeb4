"""For all tests."""


def pytest_make_parametrize_id(val):
    """Name byte strings by their length: archives hold the time at which they were made, and names must not."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None
