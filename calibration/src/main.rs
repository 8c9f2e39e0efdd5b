//! The command `icprobe`.

fn main() -> std::process::ExitCode {
    icprobe::cli::main()
}
