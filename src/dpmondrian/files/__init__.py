"""Files of a user: tables in, schema files in and out, budget files, folders of results.

Tables are read by name and type, never by value, and no message tells a value of them.
"""
