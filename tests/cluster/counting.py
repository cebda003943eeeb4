"""How often parts of a table are made. Workers import this, so it needs nothing that takes long."""

import os
import uuid
from pathlib import Path


def counted(part, folder):
    """Return a part as it is, and leave an empty file in a folder for the time it was made."""
    Path(folder, str(uuid.uuid4())).touch()
    return part


def counted_batches(folder, batches):
    """Return the record batches of a part as they are, and count it."""
    return counted(batches, folder)


def times_made(folder):
    """Return how often parts were made."""
    return len(os.listdir(folder))
