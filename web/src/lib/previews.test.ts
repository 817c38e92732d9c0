import { describe, expect, it } from 'vitest';
import { actions, progress } from './previews';

describe('what can be done with a preview', () => {
  const of = (state: string) => actions({ number: 1, state }).map((action) => action.name);

  it('depends on how far it has come', () => {
    expect(of('running')).toEqual(['cancel']);
    expect(of('ready')).toEqual(['apply', 'cancel']);
    expect(of('applied')).toEqual(['undo']);
    expect(of('undone')).toEqual([]);
  });

  it('is nothing in a state that a later server may have', () => {
    expect(of('resting')).toEqual([]);
    expect(progress({ number: 1 })).toBe('0 of 0 reports would change');
  });
});

describe('how far a preview has come', () => {
  it('counts what was looked at while it runs', () => {
    const preview = { number: 1, state: 'running', reports: 1, looked_at: 0, changed: 0 };
    expect(progress(preview)).toBe('0 of 1 report looked at, 0 would change');
  });
});
