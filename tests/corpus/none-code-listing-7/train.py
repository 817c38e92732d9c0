import torch
try:
    out = model(x)
except RuntimeError as e:
    if "CUDA out of memory" in str(e):
        print("Segmentation fault would be worse")
        raise SystemExit("OOM: lower batch size")
