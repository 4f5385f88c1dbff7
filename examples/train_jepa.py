# SPDX-License-Identifier: Apache-2.0
"""Trains a small joint-embedding predictive architecture (JEPA) on synthetic images.

A context encoder sees some patches of an image; a predictor guesses from them what a target
encoder, a slowly moving average of the context encoder, makes of the hidden patches. Data
parallel with DistributedDataParallel; run it under mpirun, torchrun or srun:

    mpirun -n 8 python train_jepa.py

One rank can be made late with --slow-rank, to see what that does to the job.
"""

import argparse
import copy
import os
import time
import zlib
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    """A transformer block: attention and a two-layer perceptron, each behind a layer norm."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    """Embeds the patches of an image, all of them or the chosen ones."""

    def __init__(self, image=64, patch=16, width=64, depth=2, heads=4):
        super().__init__()
        self.patches = (image // patch) ** 2
        self.embed = nn.Conv2d(3, width, kernel_size=patch, stride=patch)
        self.position = nn.Parameter(0.02 * torch.randn(self.patches, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)

    def forward(self, images, keep=None):
        x = self.embed(images).flatten(2).transpose(1, 2) + self.position
        if keep is not None:
            x = x[:, keep]
        return self.norm(self.blocks(x))


class Predictor(nn.Module):
    """Predicts the embeddings of hidden patches from those of the visible ones."""

    def __init__(self, patches, encoder_width, width=48, depth=2, heads=4):
        super().__init__()
        self.enter = nn.Linear(encoder_width, width)
        self.mask_token = nn.Parameter(torch.zeros(width))
        self.position = nn.Parameter(0.02 * torch.randn(patches, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.leave = nn.Linear(width, encoder_width)

    def forward(self, context, visible, hidden):
        known = self.enter(context) + self.position[visible]
        asked = (self.mask_token + self.position[hidden]).expand(len(context), -1, -1)
        x = self.blocks(torch.cat([known, asked], dim=1))
        return self.leave(self.norm(x[:, len(visible):]))


class Jepa(nn.Module):
    """The two parts that are trained; the target encoder is outside, it has no gradients."""

    def __init__(self, args):
        super().__init__()
        self.encoder = VisionTransformer(args.image, args.patch, args.width, args.depth)
        self.predictor = Predictor(
            self.encoder.patches, args.width, args.predictor_width, args.predictor_depth
        )

    def forward(self, images, visible, hidden):
        return self.predictor(self.encoder(images, visible), visible, hidden)


class SyntheticImages:
    """Images of overlapping waves: smooth, so that a patch says something about its neighbours."""

    def __init__(self, batch, size, device, seed):
        self.batch = batch
        self.generator = torch.Generator().manual_seed(seed)
        self.device = device
        axis = torch.linspace(0, 1, size)
        self.y, self.x = torch.meshgrid(axis, axis, indexing="ij")

    def next(self):
        frequency, angle, phase = torch.rand(3, self.batch, 3, 1, 1, generator=self.generator)
        direction = self.x * torch.cos(6.28 * angle) + self.y * torch.sin(6.28 * angle)
        return torch.sin(20 * frequency * direction + 6.28 * phase).to(self.device)


def split_patches(patches, generator):
    """A quarter of the patches is hidden; the same ones on every rank."""
    order = torch.randperm(patches, generator=generator)
    hidden = patches // 4
    return order[hidden:], order[:hidden]


@torch.no_grad()
def follow(target, encoder, momentum):
    """Moves the target encoder a little towards the context encoder."""
    for slow, fast in zip(target.parameters(), encoder.parameters()):
        slow.lerp_(fast, 1 - momentum)


def first_of(names, default):
    return next((os.environ[name] for name in names if name in os.environ), default)


def join_job(backend):
    """Reads this process' place from the launcher's environment; returns rank and local rank."""
    rank = int(first_of(["RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"], 0))
    world = int(first_of(["WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"], 1))
    local = int(first_of(["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"], 0))
    # mpirun names no meeting place: take a port that two jobs on one host are unlikely to share.
    job = first_of(["PMIX_NAMESPACE", "SLURM_JOB_ID"], str(os.getpid()))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(20000 + zlib.crc32(job.encode()) % 10000))
    dist.init_process_group(
        backend, rank=rank, world_size=world, timeout=timedelta(seconds=300)
    )
    return rank, local


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--steps", type=int, default=100)
    add("--batch", type=int, default=4, help="images per rank and step")
    add("--image", type=int, default=64, help="width and height of an image")
    add("--patch", type=int, default=16)
    add("--width", type=int, default=64, help="of the encoders")
    add("--depth", type=int, default=2)
    add("--predictor-width", type=int, default=48)
    add("--predictor-depth", type=int, default=2)
    add("--momentum", type=float, default=0.996, help="of the target encoder")
    add("--learning-rate", type=float, default=1e-3)
    add("--threads", type=int, default=1, help="CPU threads per rank")
    add("--device", choices=["cpu", "cuda"], default="cpu")
    add("--backend", choices=["gloo", "nccl"], default="gloo")
    add("--slow-rank", type=int, metavar="R", help="rank R sleeps in each step")
    add("--slow-ms", type=float, default=600)
    add("--slow-where", choices=["forward", "step"], default="forward",
        help="sleep before the forward pass or before the optimizer's step")
    return parser.parse_args()


def train(args, rank, device):
    torch.manual_seed(0)
    model = Jepa(args).to(device)
    target = copy.deepcopy(model.encoder).requires_grad_(False)
    encoder = model.encoder
    if device.type == "cuda":
        model = DistributedDataParallel(model, device_ids=[device.index])
    else:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    images = SyntheticImages(args.batch, args.image, device, seed=1 + rank)
    masks = torch.Generator().manual_seed(0)

    def stumble(where):
        if rank == args.slow_rank and where == args.slow_where:
            time.sleep(args.slow_ms / 1000)

    start = time.perf_counter()
    for step in range(1, args.steps + 1):
        visible, hidden = (part.to(device) for part in split_patches(encoder.patches, masks))
        batch = images.next()
        stumble("forward")
        with torch.no_grad():
            wanted = F.layer_norm(target(batch)[:, hidden], (args.width,))
        loss = F.smooth_l1_loss(model(batch, visible, hidden), wanted)
        optimizer.zero_grad()
        loss.backward()
        stumble("step")
        optimizer.step()
        follow(target, encoder, args.momentum)
        if rank == 0 and (step % 10 == 0 or step == args.steps):
            mean_ms = 1000 * (time.perf_counter() - start) / step
            print(f"step {step} loss {loss.item():.4f} ({mean_ms:.0f} ms a step)", flush=True)


def main():
    args = parse_arguments()
    torch.set_num_threads(args.threads)
    rank, local = join_job(args.backend)
    device = torch.device("cpu")
    if args.device == "cuda":
        device = torch.device("cuda", local % torch.cuda.device_count())
        torch.cuda.set_device(device)
    train(args, rank, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
