"""Pairs of image classes as tasks of two labels: readers, one file format a file, and the pair."""

from gradfeat.tasks.images.collection import ImageFileError, Images
from gradfeat.tasks.images.pair import ImagePair
from gradfeat.tasks.images.read import read_images

__all__ = ["ImageFileError", "ImagePair", "Images", "read_images"]
