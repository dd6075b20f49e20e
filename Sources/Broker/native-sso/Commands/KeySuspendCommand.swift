import ArgumentParser
import NativeSSO
import Registry
import StrictCoding

struct KeySuspendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend", abstract: "Stop keys from signing, in an alarm, until `key resume`.",
        discussion: """
            Every broker answers 503 within seconds to what such a key would sign, and writes nothing for it: no app \
            loses its login. The key stays in the JWKS, and what it signed stays valid. Other keys go on.

            With --use, the successors of the key are suspended too. A key that is made later is not.
            """)

    @OptionGroup var keys: KeySelection
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws { try await keys.suspend(true, execution, options) }
}

struct KeyResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let keys sign again that were suspended.")

    @OptionGroup var keys: KeySelection
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws { try await keys.suspend(false, execution, options) }
}

struct KeySelection: ParsableArguments {
    @Argument(help: KeyArgument.help, completion: Candidates.kids) var kid: String?
    @Option(help: "All keys of this use that sign or will sign, instead of one.") var use: KeyUse?

    mutating func validate() throws {
        guard (kid == nil) != (use == nil) else { throw ValidationError("Name one key, or a use with --use.") }
    }

    /// - Parameter isSuspended: `false`: the keys are resumed.
    fileprivate func suspend(
        _ isSuspended: Bool, _ execution: ExecutionOptions, _ options: GlobalOptions
    ) async throws {
        let verb = isSuspended ? "suspend" : "resume"
        let keys = try chosen(from: try await options.administer { try await $0.keys() })
        let changed = keys.filter { ($0.suspendedAt != nil) != isSuspended }
        guard !changed.isEmpty else {
            throw CommandFailure.refused(
                "there is nothing to \(verb): "
                    + keys.map { "key \($0.kid) is \(isSuspended ? "suspended already" : "not suspended")" }
                    .joined(separator: ", "))
        }
        let stopsSigning = isSuspended && changed.contains { $0.state == .active }
        let plan = Plan(
            "\(verb) the \(changed.map { "\($0.state.rawValue) \($0.use.rawValue) key \($0.kid)" }.joined(separator: ", the "))",
            consequences: stopsSigning ? ["brokers answer 503 to what it would sign, and write nothing"] : [])
        try await execution.carryOut(plan, options) { registry, act in
            _ = try await registry.suspend(changed, isSuspended, act)
        }
    }

    private func chosen(from keys: SigningKeys) throws(CommandFailure) -> [KeyRecord] {
        guard let kid else {
            let found = keys.records.filter { $0.use == use && $0.state.maySign }
            guard !found.isEmpty else { throw .notFound("no key for \(use?.rawValue ?? "") signs or will sign") }
            return found
        }
        guard let key = keys.records.first(where: { $0.kid.hasSameOctets(as: kid) }) else {
            throw .notFound("key \(kid) does not exist, or was removed")
        }
        guard key.use != .device else {
            throw .refused("the device key cannot be suspended: it signs nothing, and every exchange needs it")
        }
        guard key.state.maySign else { throw .refused("key \(kid) is \(key.state.rawValue) and signs nothing") }
        return [key]
    }
}
