import KeyModule
import NativeSSO
import Registry

/// One step in the life of a key, as an operator takes it. The rules are the key module's.
struct KeyStepRun {
    private let step: KeyRotation.Step
    private let kid: String
    private let isForced: Bool
    private let execution: ExecutionOptions
    private let options: GlobalOptions

    init(
        _ step: KeyRotation.Step, _ kid: String, _ isForced: Bool, _ execution: ExecutionOptions,
        _ options: GlobalOptions
    ) {
        self.step = step
        self.kid = kid
        self.isForced = isForced
        self.execution = execution
        self.options = options
    }

    func run() async throws(CommandFailure) {
        let configuration = try options.configuration()
        let provider = FileKeyProvider(directory: configuration.keys.directory)
        let rotation = KeyRotation(configuration)
        try await options.withRegistry { registry throws(CommandFailure) in
            let (key, before, after) = try await steps(rotation, registry)
            let transitions = after.compactMap { record in
                before.first { $0.kid == record.kid }.map {
                    KeyTransition(kid: record.kid, from: $0.state.rawValue, to: record.state.rawValue)
                }
            }
            try await execution.carryOut(plan(key, after), options) { act throws(CommandFailure) in
                do throws(AdministrationError) {
                    try await registry.move(transitions, isForced: isForced, act)
                } catch {
                    throw CommandFailure(error)
                }
                if step == .remove { destroy(key, provider) }
            }
        }
    }

    /// The key, all keys, and those that the step changes, as they are afterwards.
    private func steps(
        _ rotation: KeyRotation, _ registry: Administration
    ) async throws(CommandFailure) -> (key: KeyRecord, before: [KeyRecord], after: [KeyRecord]) {
        let rows: [SigningKeyRow]
        let now: UnixTime
        do throws(AdministrationError) {
            rows = try await registry.keys()
            now = try await registry.now()
        } catch {
            throw CommandFailure(error)
        }
        guard let row = rows.first(where: { $0.kid.utf8.elementsEqual(kid.utf8) }) else {
            throw .notFound("key \(kid) does not exist, or was removed")
        }
        let records = rows.compactMap(KeyRecord.init)
        guard let key = records.first(where: { $0.kid == row.kid }) else {
            throw .refused("key \(kid) is of a kind that this version does not know")
        }
        do throws(KeyRotation.Refusal) {
            return (
                key, records, try rotation.records(after: step, of: key, among: records, at: now, isForced: isForced)
            )
        } catch {
            throw .refused(error.withHint(for: step))
        }
    }

    private func plan(_ key: KeyRecord, _ after: [KeyRecord]) -> Plan {
        let retired = after.filter { $0.kid != key.kid }.map { "key \($0.kid) is retired by it" }
        return Plan(
            "\(step.rawValue) the \(key.use.rawValue) key \(key.kid), which is \(key.state.rawValue)",
            consequences: retired + consequences(key))
    }

    private func consequences(_ key: KeyRecord) -> [String] {
        switch step {
        case .publish: ["every broker needs the file \(key.reference) by now"]
        case .activate: []
        case .retire:
            key.state == .active ? ["until another is activated, every token request is answered with 503"] : []
        case .remove:
            [
                key.use == .refreshToken
                    ? "every refresh token that it made is refused from then on (invalid_grant): its apps lose their login"
                    : "no token that it signed is good any more, as soon as its readers fetch the key set again",
                "the file \(key.reference) on this machine is destroyed; delete it on every other broker",
            ]
        }
    }

    /// The key is out of use already, so a file that cannot be removed is said, and no failure.
    private func destroy(_ key: KeyRecord, _ provider: FileKeyProvider) {
        do throws(KeyError) {
            try provider.destroy(key)
        } catch {
            options.output.warn(["warning: the private part of the key is still there: \(error)"])
        }
    }
}

extension KeyRotation.Refusal {
    /// The refusal, and what to do instead or before.
    fileprivate func withHint(for step: KeyRotation.Step) -> String {
        switch self {
        case .publishedTooShortly(let until): "\(self): wait until \(until.rfc3339); --force does not wait"
        case .stillInUse(let until): "\(self) until \(until.rfc3339); --force does not wait"
        case .onlyActiveKey: "\(self); --force does not wait"
        case .wrongState(.pending, .activate): "\(self): publish it first, with native-sso key publish"
        case .wrongState(.pending, .retire): "\(self): it has made nothing; native-sso key remove takes it away"
        case .wrongState(.active, .remove):
            "\(self): activate its successor first, with native-sso key activate, which retires this one"
        case .wrongState, .deviceKey: "\(self)"
        }
    }
}

extension KeyRotation {
    /// The id_tokens of enrolments are subject tokens long after they expired.
    fileprivate init(_ configuration: Configuration) {
        self.init(refreshTokenLife: configuration.sessions.absolute)
        if let policy = configuration.enrolledPolicy {
            signatureLife = max(signatureLife, policy.maximumSubjectTokenAge)
        }
    }
}
