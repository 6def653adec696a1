/* SPDX-License-Identifier: Apache-2.0
 * hdf5.c - each rank writes a row of one file of HDF5, and rank 0 reads all of them.
 */
#include <hdf5.h>
#include <stdio.h>

enum { COLUMNS = 10, MOST = 16 };

static hid_t open_file(int make)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    const hid_t file = make ? H5Fcreate("rows.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access)
                            : H5Fopen("rows.h5", H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

static int write_row(int rank, int size)
{
    const hsize_t shape[] = {(hsize_t)size, COLUMNS}, first[] = {(hsize_t)rank, 0}, row[] = {1, COLUMNS};
    int values[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        values[i] = rank + i;
    const hid_t file = open_file(1);
    if (file < 0)
        return -1;
    const hid_t all = H5Screate_simple(2, shape, NULL), mine = H5Screate_simple(2, row, NULL);
    const hid_t rows = H5Dcreate2(file, "rows", H5T_NATIVE_INT, all, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sselect_hyperslab(all, H5S_SELECT_SET, first, NULL, row, NULL);
    const herr_t written = H5Dwrite(rows, H5T_NATIVE_INT, mine, all, H5P_DEFAULT, values);
    H5Sclose(all);
    H5Sclose(mine);
    H5Dclose(rows);
    return H5Fclose(file) < 0 ? -1 : (int)written;
}

static int sum_of_rows(int size)
{
    int values[MOST * COLUMNS] = {0}, sum = 0;
    const hid_t file = open_file(0);
    const hid_t rows = H5Dopen2(file, "rows", H5P_DEFAULT);
    H5Dread(rows, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    for (int i = 0; i < size * COLUMNS; i++)
        sum += values[i];
    H5Dclose(rows);
    H5Fclose(file);
    return sum;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MOST || write_row(rank, size) < 0) {
        MPI_Finalize();
        return 1;
    }
    const int sum = sum_of_rows(size);
    if (rank == 0)
        printf("result %d\n", sum);
    return MPI_Finalize();
}
