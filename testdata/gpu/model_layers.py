"""The convolutions of widely used models, in the order in which they are worth measuring.

usage: model_layers.py [OUT.jsonl.xz]

Needs torch, torchvision and timm, and no GPU. A line is [model, image, layers]; a layer is [channels innermost, C, H, W, K, R, S, stride, padding,
dilation, groups], as the model's first batch of images of that size has it. Of a kernel that is 1 in one direction, padding is that of the other.
"""
from __future__ import annotations

import json
import lzma
import os
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model_layers.jsonl.xz")

# Convolutional at any size of image: by use, most used first.
CNNS = """
convnext_tiny convnext_base resnet34 timm:resnet50d timm:resnet26 vgg11 vgg13 timm:efficientnet_b1 efficientnet_b1 densenet169 densenet201 efficientnet_b2 convnext_small
convnext_large timm:convnext_atto timm:convnextv2_tiny timm:convnext_nano timm:mobilenetv4_conv_small timm:seresnet50 timm:xception41 timm:ghostnet_100
regnet_y_800mf regnet_x_800mf regnet_y_1_6gf regnet_x_1_6gf regnet_x_3_2gf regnet_y_3_2gf mnasnet0_5 mnasnet0_75 mnasnet1_3 shufflenet_v2_x0_5
shufflenet_v2_x1_5 shufflenet_v2_x2_0 squeezenet1_1 efficientnet_b3 efficientnet_b4 efficientnet_v2_m resnext101_32x8d resnext101_64x4d wide_resnet101_2
densenet161 timm:efficientnet_b0 timm:efficientnet_lite0 timm:mobilenetv3_large_100 timm:tf_efficientnet_b0 timm:tf_efficientnetv2_b0 timm:efficientnetv2_rw_t
timm:mobilenetv2_100 timm:mobilenetv2_140 timm:mobilenetv4_conv_medium timm:mobilenetv1_100 timm:mobilenetv3_small_050 timm:lcnet_100 timm:tinynet_a timm:mixnet_s
timm:fbnetc_100 timm:hardcorenas_a timm:mnasnet_100 timm:semnasnet_100 timm:spnasnet_100 timm:rexnet_100 timm:repvgg_a2 timm:repvgg_b0 timm:cspresnet50
timm:cspdarknet53 timm:darknet53 timm:cspresnext50 timm:dla34 timm:dla60 timm:hrnet_w18_small timm:hrnet_w18 timm:inception_v3 timm:inception_v4
timm:inception_resnet_v2 timm:xception65 timm:xception71 timm:legacy_xception timm:ecaresnet50d timm:ecaresnet26t timm:resnet14t timm:resnet101d timm:resnet152d timm:resnetrs50 timm:resnetrs101
timm:resnetv2_50 timm:resnetv2_50x1_bit timm:resnet50_gn timm:resnetaa50 timm:seresnext50_32x4d timm:skresnet18 timm:skresnet50 timm:resnest14d
timm:resnest26d timm:resnest50d timm:res2net50_26w_4s timm:res2next50 timm:regnetz_b16 timm:regnetz_c16 timm:regnety_040 timm:regnetx_040 regnet_x_8gf
timm:dm_nfnet_f0 timm:nfnet_l0 timm:eca_nfnet_l0 timm:convnext_femto timm:convnext_pico timm:convnext_tiny_hnf timm:convnextv2_atto timm:convnextv2_nano timm:convnextv2_base
timm:convmixer_768_32 timm:convmixer_1024_20_ks9_p14 timm:efficientnet_em timm:efficientnet_es timm:efficientnet_lite1 timm:efficientnet_lite2
timm:mobilenetv4_hybrid_medium timm:mobilenetv4_conv_large timm:mobileone_s0 timm:mobileone_s1 timm:edgenext_small timm:edgenext_x_small timm:fastvit_t8
timm:fastvit_sa12 timm:poolformer_s12 timm:poolformerv2_s12 timm:efficientvit_b0 timm:efficientvit_b1 timm:repghostnet_100 timm:ghostnetv2_100
timm:vovnet39a timm:ese_vovnet19b_dw timm:ese_vovnet39b timm:selecsls42b timm:hgnet_tiny timm:hgnetv2_b0 timm:repvit_m1 timm:starnet_s1 timm:inception_next_tiny
timm:rdnet_tiny timm:caformer_s18 timm:convformer_s18 timm:dpn68 timm:dpn92 timm:wide_resnet50_2 timm:resnext50_32x4d timm:tresnet_m timm:gernet_m
timm:mixnet_l timm:rexnet_150 timm:tinynet_c timm:mobilevitv2_100 timm:mobilevit_s timm:resnet18d timm:resnet34d
timm:efficientnet_b2 timm:efficientnet_b3 timm:seresnet18 timm:seresnet34 timm:focalnet_tiny_srf timm:pvt_v2_b0 timm:pvt_v2_b1 timm:pvt_v2_b2 timm:twins_svt_small
timm:twins_pcpvt_small timm:mambaout_tiny timm:davit_tiny timm:efficientformer_l1 timm:efficientformerv2_s0 timm:shvit_s1 timm:bat_resnext26ts timm:gcresnet33ts timm:eca_resnet33ts timm:resnet33ts
""".split()

# Of one size of image: mostly a patch embedding.
FIXED = """
vit_b_32 vit_l_16 swin_s swin_b swin_v2_t maxvit_t vit_h_14 timm:vit_tiny_patch16_224 timm:vit_small_patch16_224 timm:vit_base_patch16_224 timm:vit_base_patch32_224
timm:vit_base_patch8_224 timm:vit_small_patch32_224 timm:deit_tiny_patch16_224 timm:deit_small_patch16_224 timm:deit3_small_patch16_224 timm:vit_large_patch16_224 timm:beit_base_patch16_224
timm:mixer_b16_224 timm:mixer_s32_224 timm:gmlp_s16_224 timm:resmlp_12_224 timm:swin_tiny_patch4_window7_224 timm:swinv2_cr_tiny_224 timm:crossvit_tiny_240 timm:pit_ti_224
timm:pit_s_224 timm:pit_b_224 timm:xcit_tiny_12_p16_224 timm:xcit_nano_12_p8_224 timm:volo_d1_224 timm:cait_xxs24_224 timm:levit_128 timm:levit_256 timm:tnt_s_patch16_224 timm:visformer_tiny timm:visformer_small
timm:convit_tiny timm:coat_tiny timm:coatnet_0_rw_224 timm:coatnet_rmlp_1_rw_224 timm:maxvit_tiny_rw_224 timm:eva02_tiny_patch14_224
timm:eva02_base_patch14_224 timm:nest_tiny timm:sequencer2d_s timm:gcvit_tiny timm:hiera_tiny_224 timm:nextvit_small timm:vit_base_r50_s16_224 timm:vit_relpos_small_patch16_224
timm:tiny_vit_5m_224 timm:swin_base_patch4_window7_224 timm:fasternet_t0 timm:mvitv2_tiny
""".split()


def innermost(t: torch.Tensor) -> bool:
    return t.dim() == 4 and not t.is_contiguous() and t.is_contiguous(memory_format=torch.channels_last)


class Convolutions(TorchDispatchMode):
    """Notes each distinct convolution, and gives results the layout that cuDNN would."""

    def __init__(self, images: int) -> None:
        super().__init__()
        self.images = images
        self.seen: dict[tuple[int, ...], None] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func is not torch.ops.aten.convolution.default or args[0].dim() != 4 or args[6]:
            return out
        x, w, _, stride, pad, dilation, _, _, groups = args
        last = innermost(x) or innermost(w)
        along = [p for p, size in zip(pad, w.shape[2:]) if size > 1] or pad
        if x.shape[0] == self.images and len({*stride}) == len({*dilation}) == len({*along}) == 1:
            self.seen[(int(last), *x.shape[1:], w.shape[0], *w.shape[2:], stride[0], along[0], dilation[0], groups)] = None
        return out.contiguous(memory_format=torch.channels_last) if last else out


def build(name: str) -> torch.nn.Module:
    """Builds a model of torchvision, or of timm as timm:NAME, with weights of no contents."""
    if name.startswith("timm:"):
        import timm

        make = lambda: timm.create_model(name[5:])  # noqa: E731
    else:
        import torchvision

        kwargs = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        make = lambda: getattr(torchvision.models, name)(**kwargs)  # noqa: E731
    try:
        with torch.device("meta"):
            return make().eval()
    except (NotImplementedError, RuntimeError):  # it reads numbers while it is built
        return make().to("meta").eval()


def layers(name: str, image: int) -> list[tuple[int, ...]]:
    """Returns the distinct convolutions of a model at a size of image; where that is too small for the model, those up to there."""
    model = build(name)
    with Convolutions(2) as seen, torch.no_grad():
        try:
            model(torch.empty(2, 3, image, image, device="meta"))
        except Exception as e:  # noqa: BLE001
            print(name, image, f"{type(e).__name__}: {e}"[:120], file=sys.stderr)
    return list(seen.seen)


def main() -> None:
    torch.set_num_threads(1)
    path = sys.argv[1] if len(sys.argv) > 1 else LIST
    with lzma.open(path, "wt") as out:
        for image, names in ((86, CNNS), (224, FIXED + CNNS)):
            for name in names:
                try:
                    found = layers(name, image)
                except Exception as e:  # noqa: BLE001  (another version may lack a model)
                    print(name, f"{type(e).__name__}: {e}"[:120], file=sys.stderr)
                    continue
                if found:
                    out.write(json.dumps([name, image, found], separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
