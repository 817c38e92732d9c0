"""Trains on images that were not normalised, and on images with a broken pixel value.

    python -X faulthandler not_normalised.py
"""

import torch

torch.manual_seed(0)
images = torch.randint(0, 256, (64, 3, 16, 16)).float()
labels = torch.randint(0, 10, (64,))


def train(name: str, data: torch.Tensor) -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.Flatten(), torch.nn.LazyLinear(10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data), labels)
        loss.backward()
        optimizer.step()
    print(f"{name}: loss after 20 steps {loss.item():.3g}")


train("normalised", (images - 127.5) / 73.9)
train("not normalised", images)
broken = (images - 127.5) / 73.9
broken[7, 0, 3, 3] = float("inf")
train("one pixel infinite", broken)
