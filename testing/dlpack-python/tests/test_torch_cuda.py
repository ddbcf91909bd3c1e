"""Arrays of device memory in torch, and torch's tensors in Rust, on the first CUDA device.

The module must be built with `--features cuda`. Without a device, the tests fail.
"""

import gc
import unittest

import pool_dlpack_python as pool
import torch


class TorchOnDevice(unittest.TestCase):
    def tearDown(self):
        gc.collect()
        torch.cuda.synchronize()
        self.assertEqual(pool.device_in_use(), 0, "the memory did not return")

    def test_torch_owns_the_memory_and_writes_to_it(self):
        given = pool.DeviceArray([2, 3])
        tensor = torch.from_dlpack(given)
        self.assertEqual((tensor.data_ptr(), tuple(tensor.shape)), (given.address, (2, 3)))
        self.assertEqual(tensor.device, torch.device("cuda:0"))
        tensor.add_(1)
        self.assertEqual(tensor.sum().item(), 21)
        self.assertEqual(pool.device_in_use(), 1)

    def test_torch_is_read_and_written_in_place(self):
        tensor = torch.arange(1000, dtype=torch.float32, device="cuda").reshape(10, 100)
        self.assertEqual(pool.device_total(tensor), (tensor.data_ptr(), [10, 100], 499500))
        pool.device_clear(tensor)
        self.assertEqual(tensor.sum().item(), 0)

    def test_memory_is_used_again_after_the_consumer_s_work(self):
        torch.from_dlpack(pool.DeviceArray([100_000]))
        gc.collect()
        before = pool.device_blocks()
        sums = torch.zeros(200, device="cuda")
        for i in range(200):
            tensor = torch.from_dlpack(pool.DeviceArray([1000, 100]))
            for _ in range(20):
                tensor += 1
            sums[i] = tensor[0, :10].sum()
            del tensor
        self.assertEqual(sums.tolist(), [45.0 + 200.0] * 200)
        self.assertEqual(pool.device_blocks(), before)

    def test_refusals_name_what_was_found(self):
        with self.assertRaisesRegex(BufferError, "float64"):
            pool.device_total(torch.zeros(4, dtype=torch.float64, device="cuda"))
        with self.assertRaisesRegex(BufferError, "device|host"):
            pool.device_total(torch.zeros(4))


if __name__ == "__main__":
    unittest.main()
