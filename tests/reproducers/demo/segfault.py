"""Loads samples through a C function, and hands it a pointer that nobody filled in.

The table of rows is made by one function and read by another; the second assumes that every row has been loaded. One
has not, so its pointer is null, and memmove(3) reads from it: a segmentation fault deep in a library, far from the
line that forgot to load the row.
"""

import ctypes

ROW_BYTES = 4096


class RowTable(ctypes.Structure):
    _fields_ = [("count", ctypes.c_size_t), ("rows", ctypes.c_void_p * 8)]


def load_rows(table, count):
    buffers = [ctypes.create_string_buffer(b"x" * ROW_BYTES, ROW_BYTES) for _ in range(count)]
    for index, buffer in enumerate(buffers):
        table.rows[index] = ctypes.addressof(buffer)
    # The table claims a row more than was loaded.
    table.count = count + 1
    return buffers


def copy_row(table, index):
    batch = ctypes.create_string_buffer(ROW_BYTES)
    ctypes.memmove(batch, table.rows[index], ROW_BYTES)
    return batch.raw


def train(table):
    total = 0
    for index in range(table.count):
        total += sum(copy_row(table, index))
        print(f"row {index}: running total {total}", flush=True)
    return total


def main():
    table = RowTable()
    buffers = load_rows(table, 4)
    print(f"loaded {len(buffers)} rows", flush=True)
    train(table)


if __name__ == "__main__":
    main()
