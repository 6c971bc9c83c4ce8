/* Sizes and shapes of a function's inputs and output, and reading arrays that have them. */
#define MAX_INPUTS 16
#define MAX_RANK 3

typedef struct {
    int inputs, rank, quaternions;
    npy_intp sizes[MAX_INPUTS]; /* of the inputs */
    npy_intp shape[MAX_RANK];   /* of the output for one state */
    npy_intp size;              /* number of its entries */
    struct Place {
        int input;
        npy_intp offset;
    } *quaternion; /* allocated by read_layout */
} Layout;

typedef struct {
    const double *data[MAX_INPUTS];
    ptrdiff_t strides[MAX_INPUTS]; /* doubles from state to state; 0 for one state that all share */
    npy_intp count;                /* of states, -1 for a single one */
} Arguments;

static int
read_sizes(PyObject *tuple, npy_intp *sizes, int limit, const char *what)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    if (count > limit) {
        PyErr_Format(PyExc_ValueError, "at most %d %s, got %zd", limit, what, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        sizes[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
        if (sizes[i] < 0) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_ValueError, "%s cannot have negative size", what);
            return -1;
        }
    }
    return (int)count;
}

static int
read_quaternions(Layout *layout, PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    layout->quaternion = PyMem_New(struct Place, count);
    if (layout->quaternion == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        int input;
        Py_ssize_t offset;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "in", &input, &offset))
            return -1;
        if (input < 0 || input >= layout->inputs || offset < 0 ||
            offset + 4 > layout->sizes[input]) {
            PyErr_SetString(PyExc_ValueError, "a quaternion lies outside of its input");
            return -1;
        }
        layout->quaternion[i].input = input;
        layout->quaternion[i].offset = offset;
    }
    return (int)count;
}

static int
read_layout(Layout *layout, PyObject *sizes, PyObject *shape, PyObject *quaternions)
{
    layout->inputs = read_sizes(sizes, layout->sizes, MAX_INPUTS, "inputs");
    layout->rank = read_sizes(shape, layout->shape, MAX_RANK, "dimensions");
    if (layout->inputs < 0 || layout->rank < 0)
        return 0;
    layout->quaternions = read_quaternions(layout, quaternions);
    layout->size = 1;
    for (int i = 0; i < layout->rank; i++)
        layout->size *= layout->shape[i];
    return layout->quaternions >= 0;
}

/* Reads float64 arrays of right shape; 0 when there is one to convert or to complain about. */
static int
read_arrays(const Layout *layout, PyObject *const *args, Arguments *read)
{
    read->count = -1;
    for (int i = 0; i < layout->inputs; i++) {
        if (!PyArray_CheckExact(args[i]))
            return 0;
        PyArrayObject *array = (PyArrayObject *)args[i];
        if (PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array))
            return 0;
        const npy_intp *shape = PyArray_DIMS(array);
        if (PyArray_NDIM(array) == 1 && shape[0] == layout->sizes[i]) {
            read->strides[i] = 0;
        } else if (PyArray_NDIM(array) == 2 && shape[1] == layout->sizes[i] &&
                   (read->count < 0 || read->count == shape[0])) {
            read->count = shape[0];
            read->strides[i] = layout->sizes[i];
        } else {
            return 0;
        }
        read->data[i] = (const double *)PyArray_DATA(array);
    }
    return 1;
}

/* Whether no entry is infinite or nan: an exponent of all ones carries into the sign bit. */
static int
all_finite(const double *x, npy_intp n)
{
    uint64_t carry = 0;
    for (npy_intp i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, x + i, sizeof bits);
        carry |= (bits & UINT64_C(0x7ff0000000000000)) + UINT64_C(0x0010000000000000);
    }
    return !(carry >> 63);
}

/* Whether quaternions are of unit length but for rounding; others are for Python to judge, and so
 * are some whose squares are a little farther from one than their lengths. */
static int
all_unit(const double *x, npy_intp stride, npy_intp count)
{
    for (npy_intp i = 0; i < count; i++, x += stride) {
        double square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3];
        if (!(fabs(square - 1.0) <= QUATERNION_ROUNDING))
            return 0;
    }
    return 1;
}

/* Whether all entries are finite and all quaternions of unit length. */
static int
check_values(const Layout *layout, const Arguments *read)
{
    for (int i = 0; i < layout->inputs; i++) {
        npy_intp states = read->strides[i] ? read->count : 1;
        if (!all_finite(read->data[i], states * layout->sizes[i]))
            return 0;
    }
    for (int i = 0; i < layout->quaternions; i++) {
        int input = layout->quaternion[i].input;
        npy_intp stride = read->strides[input];
        if (!all_unit(read->data[input] + layout->quaternion[i].offset, stride,
                      stride ? read->count : 1))
            return 0;
    }
    return 1;
}
