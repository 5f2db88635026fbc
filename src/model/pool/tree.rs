//! The book-keeping of the pool: which position continues which, and which of them hold a slot.
//!
//! Invariant: the ancestors of a resident position are resident. It holds because a path is touched as a whole, so a
//! parent is never less recent than its child, and of equally recent positions the later-made goes first.

use super::super::{KvNode, Row};
use crate::token::TokenId;

const NO_SLOT: u32 = u32::MAX;

struct Node {
    token: TokenId,
    parent: KvNode,
    slot: u32,
    /// The step that last had it on a path.
    used: u32,
}

pub(super) struct Tree {
    /// By index of [`KvNode`]; the first stands for the prompt and has no token. A parent precedes its children.
    nodes: Vec<Node>,
    /// Free slots, the lowest last.
    free: Vec<u32>,
    n_slots: u32,
    step: u32,
}

impl Tree {
    pub(super) fn new() -> Self {
        let prompt = Node { token: 0, parent: KvNode::PROMPT, slot: NO_SLOT, used: 0 };
        Self { nodes: vec![prompt], free: Vec::new(), n_slots: 0, step: 0 }
    }

    pub(super) fn contains(&self, node: KvNode) -> bool {
        (node.0 as usize) < self.nodes.len()
    }

    /// From below the prompt down to `node`; empty for the prompt itself.
    pub(super) fn path(&self, node: KvNode) -> Vec<KvNode> {
        let parent = |&node: &KvNode| Some(self.node(node).parent);
        let up = std::iter::successors(Some(node), parent).take_while(|&node| node != KvNode::PROMPT);
        let mut path: Vec<_> = up.collect();
        path.reverse();
        path
    }

    pub(super) fn token(&self, node: KvNode) -> TokenId {
        self.node(node).token
    }

    pub(super) fn slot(&self, node: KvNode) -> u32 {
        self.node(node).slot
    }

    pub(super) fn is_resident(&self, node: KvNode) -> bool {
        self.node(node).slot != NO_SLOT
    }

    /// Makes the positions of a row; they hold no slots yet.
    pub(super) fn append(&mut self, row: &Row) -> Vec<KvNode> {
        let mut parent = row.parent;
        let append = |&token| {
            self.nodes.push(Node { token, parent, slot: NO_SLOT, used: 0 });
            parent = KvNode(self.nodes.len() as u32 - 1);
            parent
        };
        row.tokens.iter().map(append).collect()
    }

    /// Begins a step: marks the paths to `nodes` as used now, and returns what of them holds no slot, parents first.
    pub(super) fn touch(&mut self, nodes: impl Iterator<Item = KvNode>) -> Vec<KvNode> {
        self.step += 1;
        let mut absent = Vec::new();
        for node in nodes {
            for node in self.path(node) {
                let seen = std::mem::replace(&mut self.nodes[node.0 as usize].used, self.step);
                if seen != self.step && !self.is_resident(node) {
                    absent.push(node);
                }
            }
        }
        absent.sort_unstable();
        absent
    }

    /// Number of free slots.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// `n` more slots, numbered after those there are.
    pub(super) fn add_slots(&mut self, n: usize) {
        self.free.extend(self.n_slots..self.n_slots + n as u32);
        self.n_slots += n as u32;
        self.free.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Gives each of `nodes` a free slot, which there must be.
    pub(super) fn settle(&mut self, nodes: &[KvNode]) {
        for node in nodes {
            self.nodes[node.0 as usize].slot = self.free.pop().expect("room was made before");
        }
    }

    /// Takes the slots of the `n` least recently used positions outside the present step, or of as many as there are.
    pub(super) fn evict(&mut self, n: usize) {
        let idle = |node: &&mut Node| node.slot != NO_SLOT && node.used != self.step;
        let mut idle: Vec<(u32, &mut Node)> =
            self.nodes.iter_mut().filter(idle).enumerate().map(|(i, node)| (i as u32, node)).collect();
        idle.sort_unstable_by_key(|(i, node)| (node.used, std::cmp::Reverse(*i)));
        let slots = idle.into_iter().take(n).map(|(_, node)| std::mem::replace(&mut node.slot, NO_SLOT));
        self.free.extend(slots);
        self.free.sort_unstable_by(|a, b| b.cmp(a));
    }

    fn node(&self, node: KvNode) -> &Node {
        &self.nodes[node.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with slots for all of `rows`, each row one step: its parent and how many tokens.
    fn grown(rows: &[(u32, usize)]) -> Tree {
        let mut tree = Tree::new();
        for &(parent, n) in rows {
            let nodes = tree.append(&Row { parent: KvNode(parent), tokens: vec![7; n] });
            let absent = tree.touch(nodes.last().copied().into_iter());
            tree.add_slots(absent.len());
            tree.settle(&absent);
        }
        tree
    }

    fn resident(tree: &Tree) -> Vec<u32> {
        (1..tree.nodes.len() as u32).filter(|&i| tree.is_resident(KvNode(i))).collect()
    }

    #[test]
    fn the_least_recently_used_leaf_goes_first() {
        let mut tree = grown(&[(0, 2), (1, 2), (0, 1)]); // 1-2, 1-3-4, 5
        tree.touch([KvNode(5)].into_iter());
        tree.evict(1);
        assert_eq!(resident(&tree), [1, 3, 4, 5]);
        tree.evict(1);
        assert_eq!(resident(&tree), [1, 3, 5]);
    }

    #[test]
    fn the_present_step_is_never_evicted() {
        let mut tree = grown(&[(0, 2), (1, 2), (0, 1)]);
        tree.touch([KvNode(4)].into_iter());
        tree.evict(100);
        assert_eq!(resident(&tree), [1, 3, 4]);
    }

    #[test]
    fn what_was_evicted_on_a_path_is_named_parents_first() {
        let mut tree = grown(&[(0, 3), (0, 1)]);
        tree.touch([KvNode(4)].into_iter());
        tree.evict(2);
        assert_eq!(tree.touch([KvNode(3)].into_iter()), [KvNode(2), KvNode(3)]);
    }

    #[test]
    fn freed_slots_are_given_out_lowest_first() {
        let mut tree = grown(&[(0, 3), (0, 1)]);
        tree.touch([KvNode(4)].into_iter());
        tree.evict(3);
        let nodes = tree.append(&Row { parent: KvNode::PROMPT, tokens: vec![1, 2] });
        tree.settle(&nodes);
        assert_eq!(nodes.iter().map(|&node| tree.slot(node)).collect::<Vec<_>>(), [0, 1]);
    }
}
