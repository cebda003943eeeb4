"""Any table becomes blocks of rows: frames, files, streams, and whose row it is."""
