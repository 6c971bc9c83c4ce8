/* Calls compiled equations from Python: one callable type for all functions of all robots.
 *
 * A Kernel checks its arguments, calls a function of the machine, and returns an array that nobody
 * else has. What it does not recognise at once - lists, other types, keywords, faults - it hands to the Python
 * function `prepare`, which either returns float64 arrays in C order or raises the error that
 * says what is wrong. A result that is not finite goes to `refuse`, which raises.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "layout.h"

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "floating point is relaxed, as by -ffast-math: what is not finite would not be noticed"
#endif

/* Results that are kept: one is still with the caller when the next one is asked for. */
#define RESULTS 2

/* States evaluated between two looks at pending signals (Ctrl-C). */
#define STATES_PER_TURN 65536

typedef void state_function(const double *const *in, double *out);
/* 0 without memory. */
typedef int batch_function(const double *const *rows, const ptrdiff_t *strides, double *out,
                           ptrdiff_t count);

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    state_function *state; /* these two are NULL until they are first needed */
    batch_function *batch;
    PyObject *state_address; /* as `load` gave them: as long as they are kept, the code stays */
    PyObject *batch_address;
    Layout layout;
    PyObject *results[RESULTS]; /* the last ones of a single state */
    int oldest;
    PyObject *name;
    PyObject *prepare;    /* (args, kwargs) -> tuple of arrays */
    PyObject *load;       /* ("state" | "batch") -> address, or another callable */
    PyObject *refuse;     /* (arrays, result) -> raises */
    PyObject *substitute; /* called instead, once `load` has returned it */
} Kernel;

/* Calls what the kernel holds, which the call itself may replace; `b` may be NULL. */
static PyObject *
call_held(PyObject *held, PyObject *a, PyObject *b)
{
    if (held == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the function is being deleted");
        return NULL;
    }
    Py_INCREF(held);
    PyObject *returned = PyObject_CallFunctionObjArgs(held, a, b, NULL);
    Py_DECREF(held);
    return returned;
}

static PyObject *
call_substitute(Kernel *self, PyObject *const *args, size_t flags, PyObject *names)
{
    PyObject *substitute = self->substitute;
    Py_INCREF(substitute);
    PyObject *result = PyObject_Vectorcall(substitute, args, flags, names);
    Py_DECREF(substitute);
    return result;
}

/* Asks Python for the compiled function; 0 on error or when a substitute came instead. */
static int
load_function(Kernel *self, int batch)
{
    PyObject *form = PyUnicode_FromString(batch ? "batch" : "state");
    if (form == NULL)
        return 0;
    PyObject *loaded = call_held(self->load, form, NULL);
    Py_DECREF(form);
    if (loaded == NULL)
        return 0;
    if (!PyLong_Check(loaded)) {
        Py_XSETREF(self->substitute, loaded);
        return 0;
    }
    void *address = PyLong_AsVoidPtr(loaded);
    PyObject **kept = batch ? &self->batch_address : &self->state_address;
    if (address == NULL || *kept != NULL) { /* another thread may have been faster */
        Py_DECREF(loaded);
        if (address == NULL && !PyErr_Occurred())
            PyErr_SetString(PyExc_SystemError, "a compiled function has no address");
        return address != NULL;
    }
    *kept = loaded;
    if (batch)
        self->batch = (batch_function *)address;
    else
        self->state = (state_function *)address;
    return 1;
}

/* Whether nobody else can reach a result, or has made something else of it. */
static int
is_forgotten(const Layout *layout, PyObject *result)
{
    if (result == NULL || Py_REFCNT(result) != 1 || *PyObject_GET_WEAKREFS_LISTPTR(result) != NULL)
        return 0;
    PyArrayObject *array = (PyArrayObject *)result;
    return PyArray_CHKFLAGS(array, NPY_ARRAY_CARRAY | NPY_ARRAY_OWNDATA) &&
           PyArray_TYPE(array) == NPY_DOUBLE && PyArray_NDIM(array) == layout->rank &&
           PyArray_CompareLists(PyArray_DIMS(array), layout->shape, layout->rank);
}

/* A result to be written: making one takes longer than the equations of a small robot. */
static PyObject *
result_of_state(Kernel *self)
{
#ifndef Py_GIL_DISABLED
    for (int i = 0; i < RESULTS; i++)
        if (is_forgotten(&self->layout, self->results[i])) {
            Py_INCREF(self->results[i]);
            return self->results[i];
        }
#endif
    PyObject *made = PyArray_SimpleNew(self->layout.rank, self->layout.shape, NPY_DOUBLE);
    Py_XINCREF(made);
    Py_XSETREF(self->results[self->oldest], made);
    self->oldest = (self->oldest + 1) % RESULTS;
    return made;
}

static PyObject *
evaluate_state(Kernel *self, const Arguments *read)
{
    if (self->layout.rank == 0) {
        double value;
        self->state(read->data, &value);
        return PyFloat_FromDouble(value);
    }
    PyObject *result = result_of_state(self);
    if (result != NULL)
        self->state(read->data, (double *)PyArray_DATA((PyArrayObject *)result));
    return result;
}

static PyObject *
evaluate_batch(Kernel *self, Arguments *read)
{
    const Layout *layout = &self->layout;
    npy_intp shape[MAX_RANK + 1];
    shape[0] = read->count;
    memcpy(shape + 1, layout->shape, sizeof layout->shape);
    PyObject *result = PyArray_SimpleNew(layout->rank + 1, shape, NPY_DOUBLE);
    if (result == NULL)
        return NULL;
    double *out = (double *)PyArray_DATA((PyArrayObject *)result);
    for (npy_intp left = read->count; left > 0; left -= STATES_PER_TURN) {
        npy_intp turn = left < STATES_PER_TURN ? left : STATES_PER_TURN;
        int done;
        Py_BEGIN_ALLOW_THREADS
        done = self->batch(read->data, read->strides, out, turn);
        Py_END_ALLOW_THREADS
        if (!done)
            PyErr_NoMemory();
        if (!done || PyErr_CheckSignals() < 0) {
            Py_DECREF(result);
            return NULL;
        }
        for (int i = 0; i < layout->inputs; i++)
            read->data[i] += turn * read->strides[i];
        out += turn * layout->size;
    }
    return result;
}

static int
is_finite(PyObject *result)
{
    if (PyFloat_Check(result))
        return isfinite(PyFloat_AS_DOUBLE(result));
    PyArrayObject *array = (PyArrayObject *)result;
    return all_finite((const double *)PyArray_DATA(array), PyArray_SIZE(array));
}

/* Has Python raise the error for a result that is not finite. */
static void
refuse(Kernel *self, PyObject *const *args, PyObject *result)
{
    PyObject *arrays = PyTuple_New(self->layout.inputs);
    if (arrays == NULL)
        return;
    for (int i = 0; i < self->layout.inputs; i++) {
        Py_INCREF(args[i]);
        PyTuple_SET_ITEM(arrays, i, args[i]);
    }
    PyObject *returned = call_held(self->refuse, arrays, result);
    Py_DECREF(arrays);
    if (returned != NULL) {
        Py_DECREF(returned);
        PyErr_SetString(PyExc_SystemError, "refuse must raise an error");
    }
}

static PyObject *
evaluate(Kernel *self, PyObject *const *args, Arguments *read)
{
    int batch = read->count >= 0;
    if ((batch ? self->batch == NULL : self->state == NULL) && !load_function(self, batch)) {
        if (PyErr_Occurred())
            return NULL;
        return call_substitute(self, args, (size_t)self->layout.inputs, NULL);
    }
    PyObject *result = batch ? evaluate_batch(self, read) : evaluate_state(self, read);
    if (result == NULL || is_finite(result))
        return result;
    refuse(self, args, result);
    Py_DECREF(result);
    return NULL;
}

/* Arrays made from whatever was given, one for each input. */
static PyObject *
prepared_arguments(Kernel *self, PyObject *const *args, Py_ssize_t positional, PyObject *names)
{
    PyObject *prepared = NULL;
    PyObject *given = PyTuple_New(positional), *named = PyDict_New();
    if (given == NULL || named == NULL)
        goto done;
    for (Py_ssize_t i = 0; i < positional; i++) {
        Py_INCREF(args[i]);
        PyTuple_SET_ITEM(given, i, args[i]);
    }
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++)
        if (PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), args[positional + i]) < 0)
            goto done;
    prepared = call_held(self->prepare, given, named);
    if (prepared != NULL && (!PyTuple_CheckExact(prepared) ||
                             PyTuple_GET_SIZE(prepared) != self->layout.inputs)) {
        PyErr_SetString(PyExc_SystemError, "prepare must return one array for each input");
        Py_CLEAR(prepared);
    }
done:
    Py_XDECREF(given);
    Py_XDECREF(named);
    return prepared;
}

static PyObject *
kernel_vectorcall(PyObject *object, PyObject *const *args, size_t flags, PyObject *names)
{
    Kernel *self = (Kernel *)object;
    Py_ssize_t positional = PyVectorcall_NARGS(flags);
    if (self->substitute != NULL)
        return call_substitute(self, args, flags, names);
    Arguments read;
    if (names == NULL && positional == self->layout.inputs &&
        read_arrays(&self->layout, args, &read) && check_values(&self->layout, &read))
        return evaluate(self, args, &read);
    PyObject *prepared = prepared_arguments(self, args, positional, names), *result = NULL;
    if (prepared == NULL)
        return NULL;
    PyObject *const *arrays = ((PyTupleObject *)prepared)->ob_item;
    if (read_arrays(&self->layout, arrays, &read))
        result = evaluate(self, arrays, &read);
    else
        PyErr_SetString(PyExc_SystemError, "prepare returned arrays that cannot be read");
    Py_DECREF(prepared);
    return result;
}

static PyObject *
kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"name",    "sizes", "shape",  "quaternions",
                               "prepare", "load",  "refuse", NULL};
    PyObject *name, *sizes, *shape, *quaternions, *prepare, *load, *refuse;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UO!O!O!OOO", keywords, &name, &PyTuple_Type,
                                     &sizes, &PyTuple_Type, &shape, &PyTuple_Type, &quaternions,
                                     &prepare, &load, &refuse))
        return NULL;
    Kernel *self = (Kernel *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = kernel_vectorcall;
    Py_INCREF(name);
    self->name = name;
    Py_INCREF(prepare);
    self->prepare = prepare;
    Py_INCREF(load);
    self->load = load;
    Py_INCREF(refuse);
    self->refuse = refuse;
    if (!read_layout(&self->layout, sizes, shape, quaternions))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int
kernel_traverse(PyObject *object, visitproc visit, void *arg)
{
    Kernel *self = (Kernel *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->prepare);
    Py_VISIT(self->load);
    Py_VISIT(self->refuse);
    Py_VISIT(self->substitute);
    return 0;
}

static int
kernel_clear(PyObject *object)
{
    Kernel *self = (Kernel *)object;
    Py_CLEAR(self->prepare);
    Py_CLEAR(self->load);
    Py_CLEAR(self->refuse);
    Py_CLEAR(self->substitute);
    return 0;
}

static void
kernel_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    kernel_clear(object);
    Kernel *self = (Kernel *)object;
    PyMem_Free(self->layout.quaternion);
    Py_CLEAR(self->name);
    Py_CLEAR(self->state_address);
    Py_CLEAR(self->batch_address);
    for (int i = 0; i < RESULTS; i++)
        Py_CLEAR(self->results[i]);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *
kernel_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<compiled function %U>", ((Kernel *)object)->name);
}

static PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, vectorcall), READONLY, NULL},
    {"__name__", T_OBJECT, offsetof(Kernel, name), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "A compiled function of one state or of a batch of states."},
    {Py_tp_new, kernel_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_repr, kernel_repr},
    {Py_tp_members, kernel_members},
    {0, NULL},
};

static PyType_Spec kernel_spec = {
    .name = "kane_dynamics_call.Kernel",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = kernel_slots,
};

static int
add_kernel_type(PyObject *module)
{
    import_array1(-1);
    PyObject *type = PyType_FromSpec(&kernel_spec);
    if (type == NULL)
        return -1;
    int failed = PyModule_AddObjectRef(module, "Kernel", type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, add_kernel_type}, {0, NULL}};

static PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kane_dynamics_call",
    .m_slots = module_slots,
};

PyMODINIT_FUNC
PyInit_kane_dynamics_call(void)
{
    return PyModuleDef_Init(&module_definition);
}
