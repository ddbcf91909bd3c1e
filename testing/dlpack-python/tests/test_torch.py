"""Arrays of a pool in torch, and torch's tensors in Rust, on the processor."""

import gc
import unittest

import pool_dlpack_python as pool
import torch


class Torch(unittest.TestCase):
    def tearDown(self):
        gc.collect()
        self.assertEqual(pool.in_use(), 0, "the memory did not return")

    def test_torch_owns_the_memory_and_writes_to_it(self):
        given = pool.Array([2, 3])
        tensor = torch.from_dlpack(given)
        self.assertEqual((tensor.data_ptr(), tuple(tensor.shape)), (given.address, (2, 3)))
        tensor.add_(1)
        self.assertEqual(tensor.sum().item(), 21)
        self.assertEqual(pool.in_use(), 1)

    def test_torch_is_read_and_written_in_place(self):
        tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
        self.assertEqual(pool.total(tensor), (tensor.data_ptr(), [2, 3], 15))
        pool.fill(tensor, 2.0)
        self.assertEqual(tensor.sum().item(), 12)

    def test_refusals_name_what_was_found(self):
        with self.assertRaisesRegex(BufferError, "elements of float64, but float32"):
            pool.total(torch.zeros(4, dtype=torch.float64))
        with self.assertRaisesRegex(BufferError, "stride 3 instead of 1"):
            pool.total(torch.zeros(4, 3).T)


if __name__ == "__main__":
    unittest.main()
