//! The few operations that candle does not do well enough on a CPU: products with large weights for a few rows, and the
//! gated activation.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Error, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

/// Rows of input that gemm takes at once. With the weight on the left and at most two vectors' worth of columns on the
/// right gemm reads the weight as it lies; otherwise it packs all of it anew. On 576 x 1536: 46-66 Gflop/s instead of
/// 20-39 for `x.matmul(weight.t())`, from 8 rows to 256.
const ROWS: usize = 32;

/// `x` `[rows, in]` times the transposed `weight` `[out, in]`.
pub(super) fn product(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let rows = x.dim(0)?;
    if rows == 1 || !x.device().is_cpu() {
        return x.matmul(&weight.t()?);
    }
    let block = |start: usize| {
        let x = x.narrow(0, start, ROWS.min(rows - start))?;
        weight.matmul(&x.t()?)?.apply_op1_no_bwd(&Transpose)
    };
    let blocks: Vec<Tensor> = (0..rows).step_by(ROWS).map(block).collect::<Result<_>>()?;
    Tensor::cat(&blocks, 0)
}

/// A matrix turned round, tile by tile; candle's `t().contiguous()` goes element by element.
struct Transpose;

/// Rows of a tile: a cache line of output.
const TILE: usize = 16;

impl CustomOp1 for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, columns) = layout.shape().dims2()?;
        let matrix = contiguous(self.name(), storage, layout)?;
        let mut turned = vec![0.0; matrix.len()];
        for (tile, lines) in matrix.chunks(columns * TILE).enumerate() {
            for column in 0..columns {
                let target = &mut turned[column * rows + tile * TILE..];
                for (to, from) in target.iter_mut().zip(lines[column..].iter().step_by(columns)) {
                    *to = *from;
                }
            }
        }
        Ok((CpuStorage::F32(turned), (columns, rows).into()))
    }
}

/// `silu(a) * b`.
pub(super) fn silu_product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.device().is_cpu() { a.apply_op2_no_bwd(b, &SiluProduct) } else { a.silu()? * b }
}

/// `silu(a) * b` in one go. Candle's own operations take two passes, and from 65,536 elements on they spread over a pool
/// of spinning threads, whose size only the environment decides.
struct SiluProduct;

/// Elements for which another thread is worth its while.
const SILU_CHUNK: usize = 8192;

impl CustomOp2 for SiluProduct {
    fn name(&self) -> &'static str {
        "silu-product"
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        a_layout: &Layout,
        b: &CpuStorage,
        b_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (a, b) = (contiguous(self.name(), a, a_layout)?, contiguous(self.name(), b, b_layout)?);
        let gated = |(a, b): (&f32, &f32)| a / (1.0 + (-a).exp()) * b;
        let gated: Vec<f32> = a.par_iter().with_min_len(SILU_CHUNK).zip(b).map(gated).collect();
        Ok((CpuStorage::F32(gated), a_layout.shape().clone()))
    }
}

fn contiguous<'a>(op: &'static str, storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let (start, end) = layout.contiguous_offsets().ok_or(Error::RequiresContiguous { op })?;
    Ok(&storage.as_slice::<f32>()?[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    fn numbers(rows: usize, columns: usize) -> Tensor {
        let values: Vec<f32> = (0..rows * columns).map(|i| ((i * 37) % 101) as f32 / 101.0 - 0.5).collect();
        Tensor::from_vec(values, (rows, columns), &Device::Cpu).unwrap()
    }

    #[test]
    fn products_of_any_number_of_rows_agree_with_plain_loops() {
        let weight = numbers(35, 20);
        let w = weight.to_vec2::<f32>().unwrap();
        for rows in [1, 2, 31, 32, 33, 70] {
            let x = numbers(rows, 20);
            let found = product(&x, &weight).unwrap().to_vec2::<f32>().unwrap();
            for (x, found) in x.to_vec2::<f32>().unwrap().iter().zip(found) {
                let expected = w.iter().map(|w| w.iter().zip(x).map(|(w, x)| w * x).sum::<f32>());
                assert!(expected.zip(found).all(|(a, b)| (a - b).abs() < 1e-5));
            }
        }
    }

    #[test]
    fn the_gate_is_silu_times_its_partner() {
        let (a, b) = (numbers(3, 7), numbers(7, 3).reshape((3, 7)).unwrap());
        let found = a.apply_op2_no_bwd(&b, &SiluProduct).unwrap();
        let expected = (a.silu().unwrap() * b).unwrap();
        let furthest = (found - expected).unwrap().abs().unwrap().max_all().unwrap();
        assert!(furthest.to_scalar::<f32>().unwrap() < 1e-6);
    }
}
