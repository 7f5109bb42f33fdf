//! The expressions of a resources policy.

use proptest::prelude::*;

use crate::cluster::quantity::Quantity;
use crate::fixtures::workload::cases;
use crate::sidecarset::formula::{Formula, Variable};

fn value(text: &str, variable: Variable, of: &str) -> Result<String, String> {
    let formula = Formula::read(text, variable).map_err(|error| error.to_string())?;
    let value = formula.value(Quantity::read(of).unwrap());
    value.map(|quantity| quantity.to_string()).map_err(|error| error.to_string())
}

/// SS-46, SS-47.
#[test]
fn ss_46_ss_47_expressions_have_these_values() {
    for (text, variable, of, wanted) in [
        ("cpu*50%", Variable::Cpu, "200m", "100m"),
        ("memory*50%", Variable::Memory, "512Mi", "256Mi"),
        ("max(cpu*50%, 50m)", Variable::Cpu, "20m", "50m"),
        ("min(memory, 200Mi)", Variable::Memory, "1Gi", "200Mi"),
        ("MAX(CPU/2,100m)", Variable::Cpu, "1", "500m"),
        ("cpu/3", Variable::Cpu, "100m", "33m"),
        ("cpu*(1/3)", Variable::Cpu, "300m", "100m"),
        ("1+2*3", Variable::Cpu, "0", "7"),
        ("(1+2)*3", Variable::Cpu, "0", "9"),
        ("8/2/2", Variable::Cpu, "0", "2"),
        ("-1+2", Variable::Cpu, "0", "1"),
        (".5", Variable::Cpu, "0", "500m"),
        ("1e3", Variable::Memory, "0", "1k"),
        ("cpu+1", Variable::Cpu, "500m", "1500m"),
        ("cpu - 100m", Variable::Cpu, "300m", "200m"),
        ("memory/3", Variable::Memory, "1000", "333"),
        ("200Mi", Variable::Memory, "1Gi", "200Mi"),
    ] {
        assert_eq!(value(text, variable, of).as_deref(), Ok(wanted), "{text}");
    }
}

/// SS-47, B9, 8.2 no. 47: what is wrong is said, and is never a silent zero.
#[test]
fn ss_47_sidecarset_b9_what_has_no_value_says_why() {
    for (text, what) in [
        ("100mi", "unknown unit \"mi\""),
        ("cpu*cpu", "multiplied by a quantity"),
        ("1/cpu", "divided by a quantity"),
        ("cpu/0", "divides by zero"),
        ("cpu-2", "negative"),
        ("memory", "unknown word \"memory\""),
        ("max(cpu)", "exactly two"),
        ("max(1,2,3)", "exactly two"),
        ("(cpu", "closing parenthesis"),
        ("cpu cpu", "not expected"),
        ("", "ends too early"),
        ("cpu $", "not expected"),
        ("1.2.3", "not expected"),
    ] {
        let error = value(text, Variable::Cpu, "1").unwrap_err();
        assert!(error.contains(what), "{text}: {error}");
    }
    let is_checked = |text: &str| Formula::read(text, Variable::Cpu).and_then(|one| one.check()).is_ok();
    assert!(is_checked("cpu-2"), "a large pod has room for it");
    assert!(!is_checked("cpu*cpu") && !is_checked("1/cpu"));
}

/// A tree that is written as text and computed with exact fractions on the side.
#[derive(Debug, Clone)]
enum Tree {
    Number(i64),
    Of(char, Box<Tree>, Box<Tree>),
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = (0_i64..20).prop_map(Tree::Number);
    leaf.prop_recursive(4, 16, 2, |inner| {
        (prop::sample::select(vec!['+', '-', '*', 'M', 'm']), inner.clone(), inner)
            .prop_map(|(sign, a, b)| Tree::Of(sign, Box::new(a), Box::new(b)))
    })
}

fn text(tree: &Tree) -> String {
    match tree {
        Tree::Number(number) => number.to_string(),
        Tree::Of('M', a, b) => format!("max({}, {})", text(a), text(b)),
        Tree::Of('m', a, b) => format!("min({},{})", text(a), text(b)),
        Tree::Of(sign, a, b) => format!("({} {sign} {})", text(a), text(b)),
    }
}

fn reference(tree: &Tree) -> i64 {
    match tree {
        Tree::Number(number) => *number,
        Tree::Of(sign, a, b) => {
            let (a, b) = (reference(a), reference(b));
            match sign {
                '+' => a + b,
                '-' => a - b,
                '*' => a * b,
                'M' => a.max(b),
                _ => a.min(b),
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn ss_46_values_are_those_of_a_reference_evaluator(tree in trees()) {
        let wanted = reference(&tree);
        let found = value(&text(&tree), Variable::Cpu, "1");
        if wanted < 0 {
            prop_assert!(found.unwrap_err().contains("negative"));
        } else {
            prop_assert_eq!(Quantity::read(&found.unwrap()).unwrap(), Quantity::read(&wanted.to_string()).unwrap());
        }
    }

    /// 8.2 no. 47: whatever is written, nothing panics.
    #[test]
    fn ss_46_any_text_is_a_value_or_an_error(written in "[-+*/()., 0-9a-zA-Z%]{0,40}") {
        let _ = value(&written, Variable::Memory, "1Gi");
    }
}
