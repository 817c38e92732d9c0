import { describe, expect, it } from 'vitest';
import type { Frame } from '../api/types';
import { foldStack, isMachinery } from './frames';

const native = (name: string): Frame => ({ kind: 'native', function: name });
const none = (_index: number) => false;

describe('machinery', () => {
  it.each([
    '__pthread_kill_implementation',
    'raise',
    '__GI_abort',
    'std::terminate()',
    '__libc_start_call_main',
    '_start',
    '_PyEval_EvalFrameDefault',
    'cfunction_vectorcall_FASTCALL',
    'pybind11::cpp_function::dispatcher(_object*, _object*, _object*)',
  ])('%s', (name) => expect(isMachinery(native(name))).toBe(true));

  it.each(['main', 'trainer::do_crash', 'PyInit_mine', 'raise_flag', 'at::native::add', 'startup', ''])('not %s', (name) =>
    expect(isMachinery(native(name))).toBe(false),
  );

  it('tells Python files that pass calls on from those that do something', () => {
    const frame = { kind: 'python', file: '/v/torch/nn/modules/module.py' };
    expect(isMachinery({ ...frame, function: '_call_impl' })).toBe(true);
    expect(isMachinery({ ...frame, function: 'load_state_dict' })).toBe(false);
  });
});

describe('folding', () => {
  const shape = (frames: Frame[], keep = none) =>
    foldStack(frames, keep).map((run) => `${run.folded ? 'fold' : 'show'} ${run.first}+${run.frames.length}`);

  it('folds runs and keeps what is between', () => {
    expect(
      shape([native('__pthread_kill'), native('raise'), native('crash'), native('main'), native('__libc_start_main'), native('_start')]),
    ).toEqual(['fold 0+2', 'show 2+2', 'fold 4+2']);
  });
  it('never folds what is cited', () => {
    expect(shape([native('raise'), native('abort'), native('main')], (index) => index === 1)).toEqual(['show 0+1', 'show 1+2']);
  });
  it('folds the handler of a signal', () => {
    expect(shape([native('on_signal'), native('dump'), { ...native('crash'), signal: true }, native('main')])).toEqual([
      'fold 0+2',
      'show 2+2',
    ]);
  });
  it('shows a stack that is nothing but machinery', () => {
    expect(shape([native('raise'), native('abort')])).toEqual(['show 0+2']);
  });
  it('does not fold a single frame', () => {
    expect(shape([native('main'), native('_start')])).toEqual(['show 0+1', 'show 1+1']);
  });
});
