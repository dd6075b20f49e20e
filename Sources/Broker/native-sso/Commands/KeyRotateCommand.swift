import ArgumentParser
import KeyModule
import NativeSSO
import Registry

struct KeyRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Take the next step of a rotation, if it is due.",
        discussion: """
            Run it every day, by a timer. It publishes a successor when the active key is old enough, activates it 24 h \
            later, and removes the old key when nothing that it signed is in use. If nothing is due, it says until when. \
            Each algorithm that signs access tokens takes its own step; an RSA key keeps its size.

            Run it as the broker's user or by native-sso-admin, on a machine whose key files every broker shares, or with \
            keys in a token.
            """)

    @Option(help: "Key use.") var use = KeyUse.accessToken
    @Option(help: "Rotate only the access-token keys of this algorithm.") var algorithm: KeyAlgorithm?
    @Option(help: ArgumentHelp("How long a key signs.", valueName: "90d")) var every = KeyRotation.standardPeriod
    @Flag(help: "Begin a rotation now, unless one is in progress.") var now = false
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let (keys, provider) = try options.keyStore()
        let replica = keys.replica(for: use)
        let rotation = try options.read(openingFiles: false) { KeyRotation(reading: $0) }
        let (records, instant) = try await options.administer { registry in
            (try await registry.keys().records, try await registry.now())
        }
        // The database rounds the times of a key to seconds, so that they may lie half a second ahead.
        let (period, time) = (now ? 0 : every, now ? instant.adding(1) : instant)
        let steps =
            if let only = use == .accessToken ? algorithm : .hs256 {
                [(only, rotation.due(use, only, of: replica, among: records, every: period, at: time))]
            } else {
                rotation.due(of: replica, among: records, every: period, at: time)
            }
        func carryOut(_ due: KeyRotation.Due, _ algorithm: KeyAlgorithm) async throws {
            let name = "\(algorithm.rawValue) key for \(use.rawValue)"
            switch due {
            case .wait(let until):
                try options.output.show(
                    Plan("do nothing before \(until.rfc3339): the \(name) is not due", isDue: false))
            case .pending(let record):
                throw CommandFailure.refused(
                    "key \(record.kid) is pending: publish it, with native-sso key publish, or remove it, with native-sso key remove"
                )
            case .suspended(let record):
                throw CommandFailure.refused(
                    "key \(record.kid) is suspended: resume it, with native-sso key resume, or activate a successor yourself"
                )
            case .generate:
                let plan = Plan(
                    "make and publish the next \(name)",
                    consequences: [
                        "it signs after \(DurationText.format(rotation.publication)), when this command runs again"
                    ])
                try await execution.carryOut(plan, options) { registry, act in
                    let key = try await KeyGenerator(provider: provider).generate(
                        use, algorithm: algorithm, beside: records.filter { $0.replica == replica })
                    try await registry.register(key, use, of: replica, provider, act)
                }
            case .take(let step, let record):
                let after = try rotation.records(after: step, of: record, among: records, at: instant)
                let plan = Plan("\(step.rawValue) the \(name) \(record.kid)")
                try await execution.carryOut(plan, options) { registry, act in
                    try await registry.move(KeyTransition.all(from: records, to: after), isForced: false, act)
                    if step == .remove { try await provider.destroy(record) }
                }
            }
        }
        // One algorithm that cannot go on holds up no other.
        var failures: [any Error] = []
        for (algorithm, due) in steps {
            do { try await carryOut(due, algorithm) } catch { failures.append(error) }
        }
        if let failure = failures.first { throw failure }
    }
}
