import ArgumentParser

/// A command that only holds others. To name none of them is a mistake, not a request for help: a service file that forgot
/// `serve` must not look like a service that ended well.
protocol CommandGroup: AsyncParsableCommand {}

extension CommandGroup {
    mutating func run() async throws {
        let names = Self.configuration.subcommands.map { $0._commandName }.joined(separator: ", ")
        throw ValidationError("Name a subcommand: \(names).")
    }
}
