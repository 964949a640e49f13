// Chances that are the same again with the same seed.
export class Random {
  constructor(seed) {
    this.seed = seed >>> 0
  }

  // below returns a whole number from 0 to n - 1 (mulberry32).
  below(n) {
    this.seed = (this.seed + 0x6d2b79f5) >>> 0
    let t = this.seed
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) % n
  }

  of(list) {
    return list[this.below(list.length)]
  }
}
