"""Arrays of a pool in numpy, and numpy's arrays in Rust: addresses show that nothing is copied."""

import gc
import threading
import unittest

import numpy
import pool_dlpack_python as pool


def address(array):
    return array.__array_interface__["data"][0]


class Given(unittest.TestCase):
    def setUp(self):
        self.assertEqual(pool.in_use(), 0)

    def tearDown(self):
        gc.collect()
        self.assertEqual(pool.in_use(), 0, "the memory did not return")

    def test_numpy_owns_the_memory_and_writes_to_it(self):
        given = pool.Array([2, 3])
        array = numpy.from_dlpack(given)
        self.assertEqual((address(array), array.shape, array.dtype), (given.address, (2, 3), numpy.float32))
        self.assertTrue(array.flags.writeable and array.flags.c_contiguous)
        numpy.testing.assert_array_equal(array, [[0, 1, 2], [3, 4, 5]])
        del given
        array += 1
        self.assertEqual(array.sum(), 21)
        self.assertEqual(pool.in_use(), 1)
        part = array[1:, 1:]
        del array
        gc.collect()
        self.assertEqual((pool.in_use(), part.tolist()), (1, [[5, 6]]), "a part keeps the memory")

    def test_memory_is_used_again(self):
        numpy.from_dlpack(pool.Array([1000]))
        gc.collect()
        before = pool.blocks()
        for _ in range(1000):
            array = numpy.from_dlpack(pool.Array([10, 100]))
            self.assertEqual(array[9, 99], 999)
            del array
        self.assertEqual(pool.blocks(), before)

    def test_an_array_is_given_once(self):
        given = pool.Array([4])
        array = numpy.from_dlpack(given)
        with self.assertRaisesRegex(BufferError, "given away"):
            numpy.from_dlpack(given)
        self.assertEqual(array.tolist(), [0, 1, 2, 3])

    def test_a_capsule_that_nobody_takes_returns_its_memory(self):
        capsule = pool.Array([4]).__dlpack__(max_version=(1, 0))
        self.assertEqual(pool.in_use(), 1)
        del capsule

    def test_old_consumers_get_a_legacy_capsule(self):
        capsule = pool.Array([4]).__dlpack__()
        self.assertIn('"dltensor"', repr(capsule))

    def test_scalars_and_empty_arrays(self):
        self.assertEqual(numpy.from_dlpack(pool.Array([])).shape, ())
        self.assertEqual(numpy.from_dlpack(pool.Array([3, 0, 2])).shape, (3, 0, 2))

    def test_dropped_on_other_threads(self):
        arrays = [numpy.from_dlpack(pool.Array([100 + i])) for i in range(8)]

        def drop():
            while arrays:
                arrays.pop()

        threads = [threading.Thread(target=drop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_copies_are_refused_and_left_to_the_consumer(self):
        with self.assertRaises(BufferError):
            pool.Array([4]).__dlpack__(max_version=(1, 0), copy=True)


class Shared(unittest.TestCase):
    def tearDown(self):
        gc.collect()
        self.assertEqual(pool.in_use(), 0, "the memory did not return")

    def test_many_readers_and_no_writer(self):
        shared = pool.SharedArray([2, 2])
        arrays = [numpy.from_dlpack(shared) for _ in range(3)]
        for array in arrays:
            self.assertEqual((address(array), array.sum()), (shared.address, 6))
            self.assertFalse(array.flags.writeable)
            with self.assertRaisesRegex(ValueError, "read-only"):
                array[0, 0] = 1
        self.assertEqual(pool.in_use(), 1)
        del shared
        self.assertEqual(arrays[2].tolist(), [[0, 1], [2, 3]])

    def test_a_legacy_consumer_is_refused(self):
        with self.assertRaises(BufferError):
            pool.SharedArray([4]).__dlpack__()


class Taken(unittest.TestCase):
    def test_numpy_is_read_in_place(self):
        array = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
        self.assertEqual(pool.total(array), (address(array), [2, 3], 15))
        part = array[1:]
        self.assertEqual(pool.total(part), (address(part), [1, 3], 12))
        self.assertEqual(pool.total(numpy.array(2.5, dtype=numpy.float32))[1:], ([], 2.5))

    def test_numpy_is_written_in_place(self):
        array = numpy.zeros(5, dtype=numpy.float32)
        pool.fill(array, 4.5)
        self.assertEqual(array.tolist(), [4.5] * 5)
        array.flags.writeable = False
        with self.assertRaisesRegex(BufferError, "read-only"):
            pool.fill(array, 1)

    def test_there_and_back(self):
        given = pool.Array([3])
        array = numpy.from_dlpack(given)
        self.assertEqual(pool.total(array), (given.address, [3], 3))

    def test_refusals_name_what_was_found(self):
        square = numpy.zeros((4, 4), dtype=numpy.float32)
        column = numpy.zeros((4, 1), dtype=numpy.float32)
        self.assertEqual(pool.total(column)[1], [4, 1])
        for array, text in [
            (numpy.zeros(4), "elements of float64, but float32"),
            (numpy.zeros(4, dtype=numpy.int32), "elements of int32, but float32"),
            (numpy.zeros(4, dtype=numpy.complex64), "elements of complex64, but float32"),
            (numpy.zeros(4, dtype=bool), "elements of bool8, but float32"),
            (square.T[:, 1:], "axis 1 of the tensor has stride 4 instead of 1"),
            (square[:, ::2], "axis 1 of the tensor has stride 2 instead of 1"),
            (square[:, :3], "axis 0 of the tensor has stride 4 instead of 3"),
            (square[0][::-1], "stride -1 instead of 1"),
            (numpy.broadcast_to(numpy.float32(1), (3,)), "stride 0 instead of 1"),
        ]:
            with self.subTest(text), self.assertRaisesRegex(BufferError, text):
                pool.total(array)

    def test_an_address_between_elements_is_refused(self):
        bytes_ = numpy.zeros(41, dtype=numpy.uint8)
        odd = bytes_[1 + (-address(bytes_)) % 4 :][:8].view(numpy.float32)
        self.assertEqual(address(odd) % 4, 1)
        with self.assertRaisesRegex((BufferError, TypeError), "alignment|align"):
            pool.total(odd)


if __name__ == "__main__":
    unittest.main()
