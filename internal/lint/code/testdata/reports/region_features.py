# after: facebookresearch/detectron2#1514
import cv2
import torch
from detectron2.checkpoint import DetectionCheckpointer
from detectron2.config import get_cfg
from detectron2.modeling import build_model


class Extractor:
    def __init__(self, yaml, weights):
        cfg = get_cfg()
        cfg.merge_from_file(yaml)
        self.model = build_model(cfg)
        DetectionCheckpointer(self.model).load(weights)
        self.model.eval()

    def boxes_and_features(self, path):
        raw = cv2.imread(path)
        height, width = raw.shape[:2]
        image = torch.as_tensor(raw.astype("float32").transpose(2, 0, 1))
        inputs = [{"image": image, "height": height, "width": width}]
        images = self.model.preprocess_image(inputs)
        features = self.model.backbone(images.tensor)  # want: leak/eval-without-no-grad
        proposals, _ = self.model.proposal_generator(images, features)  # want: leak/eval-without-no-grad
        instances, _ = self.model.roi_heads(images, features, proposals)
        pooled = self.model.roi_heads.box_pooler([features[f] for f in self.model.roi_heads.in_features], [i.pred_boxes for i in instances])
        return instances[0].pred_boxes, pooled


def main(paths):
    extractor = Extractor("faster_rcnn.yaml", "model_final.pth")
    for i, path in enumerate(paths):
        boxes, pooled = extractor.boxes_and_features(path)
        torch.save(pooled.cpu(), f"{path}.pt")
