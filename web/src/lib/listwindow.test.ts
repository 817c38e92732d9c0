import { expect, it } from 'vitest';
import { ListWindow } from './listwindow.svelte';

it.each([
  { length: 5, index: 0, first: 0, end: 5 },
  { length: 0, index: 0, first: 0, end: 0 },
  { length: 1000, index: 0, first: 0, end: 100 },
  { length: 1000, index: 40, first: 0, end: 100 },
  { length: 1000, index: 500, first: 475, end: 575 },
  { length: 1000, index: 999, first: 900, end: 1000 },
])('$length items around $index', ({ length, index, first, end }) => {
  const window = new ListWindow(length, 100, index);
  expect([window.first, window.end]).toEqual([first, end]);
  expect([window.before, window.after]).toEqual([first, length - end]);
});

it('grows to both ends and no further', () => {
  const window = new ListWindow(250, 100, 120);
  window.earlier();
  window.later();
  window.later();
  expect([window.first, window.end, window.before, window.after]).toEqual([0, 250, 0, 0]);
});
