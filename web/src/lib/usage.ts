/** Drawing a memory curve. */
import type { UsageCurve } from '../api/types';

/**
 * The curve as a closed path over `width` by `height`, from the bottom up to the highest value of each stretch, with the
 * drop to its lowest shown as a notch at its start. The full height stands for `full`, or else for the highest value.
 * Empty for a curve without rows.
 */
export function outline(curve: UsageCurve, width: number, height: number, full = 0): string {
  const highs = curve.max ?? [];
  const lows = curve.min ?? [];
  const top = Math.max(1, full, ...highs);
  if (highs.length === 0) return '';
  const step = width / highs.length;
  const y = (value: number) => (height * (1 - value / top)).toFixed(1);
  const x = (index: number) => (index * step).toFixed(1);
  const points = highs.map((high, index) => `L${x(index)} ${y(lows[index] ?? high)}L${x(index)} ${y(high)}L${x(index + 1)} ${y(high)}`);
  return `M0 ${height}${points.join('')}L${width} ${height}Z`;
}

/** The place in a stack that a person knows it by: the innermost Python line, or else the innermost frame. */
export function ownPlace(frames: readonly string[]): string | undefined {
  return frames.find((frame) => /\.py:\d+\)$/.test(frame)) ?? frames[0];
}
