try:
    loss = model(x)
except torch.OutOfMemoryError:
    raise RuntimeError("CUDA out of memory. Tried to allocate too much")
except FileNotFoundError as e:
    print("FileNotFoundError:", e)
