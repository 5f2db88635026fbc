//! A mean over seeds and how far it can be trusted.

use serde::Serialize;

/// Student's t, 97.5 %, by degrees of freedom from 1 on.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// The normal distribution's, for more.
const Z: f64 = 1.96;

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// How far the interval reaches to either side; `None` for a single value.
    pub margin: Option<f64>,
    /// Of how many values.
    pub n: usize,
}

impl Estimate {
    /// Of independent values; `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let margin = (n > 1).then(|| {
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
            T.get(n - 2).unwrap_or(&Z) * (variance / n as f64).sqrt()
        });
        Some(Self { mean, margin, n })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]).unwrap();
        assert!((estimate.mean - 2.0).abs() < 1e-12);
        // 4.303 * 1 / sqrt(3)
        assert!((estimate.margin.unwrap() - 2.484_337).abs() < 1e-5);
        assert_eq!(Estimate::of(&[4.0]).unwrap().margin, None);
        assert_eq!(Estimate::of(&[]), None);
    }
}
