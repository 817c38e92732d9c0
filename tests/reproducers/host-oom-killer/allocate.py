"""Takes host memory until it is killed. Run it inside a memory limit, never without one:

    systemd-run --user --scope -p MemoryMax=256M -p MemorySwapMax=0 python allocate.py
"""

blocks = []
while len(blocks) < 4096:
    blocks.append(bytearray(b"\1") * (1 << 20))
    if len(blocks) % 32 == 0:
        print("holding", len(blocks), "MiB", flush=True)
print("survived: is there a limit at all?")
