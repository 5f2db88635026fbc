//! A model from the directory of a checkpoint as the hub has it.

use std::path::Path;

use super::super::decoder::Decoder;
use super::super::error::WeightsError;
use super::super::hub_config::{self, Architecture, HubConfig};
use super::super::layout::{Layout, Traits, sentinels};
use super::super::names::Renamed;
use super::super::network::{Network, Place};
use super::super::t5::T5;
use super::super::tokenizer::Tokenizer;
use super::super::weights::Checkpoint;
use super::{Identity, Loaded, check_memory, sha256};

/// The file that makes a directory a checkpoint.
pub(super) const CONFIG: &str = "config.json";

pub(super) fn load(dir: &Path, place: &Place) -> Result<Loaded, WeightsError> {
    let config = HubConfig::read(&dir.join(CONFIG))?;
    let kind = config.network()?;
    let mut tokenizer = Tokenizer::from_dir(dir, &sentinels())?;
    let traits = traits(&config, &kind);
    let layout = Layout::of(traits, &tokenizer)?;
    let mut checkpoint = Checkpoint::open(dir)?;
    check_memory(checkpoint.n_numbers(), place)?;
    let identity = identity(&config, dir, &checkpoint)?;
    let network: Box<dyn Network> = match kind {
        hub_config::Network::T5(mut config) => {
            config.decoder_start.extend(layout.decoder_start());
            Box::new(T5::load(config, place.clone(), &mut checkpoint)?)
        }
        hub_config::Network::Decoder { architecture, config, tied } => {
            let checkpoint = &mut checkpoint;
            let mut renamed = Renamed { checkpoint, architecture, config: &config.clone(), tied };
            Box::new(Decoder::load(config, place.clone(), &mut renamed)?)
        }
    };
    tokenizer.widen(network.shape().vocabulary)?;
    Ok(Loaded { identity, tokenizer, layout, network })
}

fn traits(config: &HubConfig, kind: &hub_config::Network) -> Traits {
    match kind {
        hub_config::Network::T5(_) => Traits::Encoder,
        hub_config::Network::Decoder { architecture, .. } => match architecture {
            Architecture::Gemma => Traits::Gemma,
            Architecture::Llama if config.has_attention_bias() => Traits::BiasedLlama,
            Architecture::Llama => Traits::Llama,
            _ => Traits::Other,
        },
    }
}

fn identity(config: &HubConfig, dir: &Path, checkpoint: &Checkpoint) -> Result<Identity, WeightsError> {
    let name = || dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Identity {
        name: config.name().map_or_else(name, str::to_owned),
        architecture: config.model_type()?.to_owned(),
        path: dir.to_owned(),
        sha256: sha256(checkpoint.paths())?,
        licence: None,
    })
}
