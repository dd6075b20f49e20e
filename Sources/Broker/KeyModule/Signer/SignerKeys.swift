import JOSE
package import NativeSSO
import StrictCoding
import Synchronization

/// How often a key was used by one account.
package struct SignerCount: Sendable {
    package let user: UInt32
    package let kid: String
    package let use: KeyUse
    package let count: Int64
}

/// The keys that the signer has loaded, and the rules for their use.
final class SignerKeys: Sendable {
    struct Answer: Sendable {
        let status: SignerProtocol.Status
        let octets: [UInt8]

        init(_ status: SignerProtocol.Status, _ octets: [UInt8]) { (self.status, self.octets) = (status, octets) }
        init(_ status: SignerProtocol.Status, text: String) { self.init(status, Array(text.utf8)) }
    }

    private struct Loaded: Sendable {
        enum Key: Sendable {
            case signing(any SigningKey, headers: [[UInt8]])
            case mac(any MessageAuthenticator)
            /// Of another replica.
            case published(JSONWebKey)
        }

        let record: KeyRecord
        let key: Key
        let uses: Uses
    }

    /// Of one key, by account. It stays when the key is loaded again.
    private final class Uses: Sendable {
        let counts = Mutex<[UInt32: Int64]>([:])
    }

    private struct State {
        var keys: [KeyName: Loaded] = [:]
        var uses: [KeyName: Uses] = [:]
    }

    private let provider: any KeyProvider
    private let policy: SigningPolicy
    private let rate: CallRate<UInt32>
    private let clock: any WallClock
    private let report: @Sendable (SignerEvent) -> Void
    private let state = Mutex(State())

    /// The registry has far fewer.
    private static let mostKeys = 1024

    init(
        _ provider: any KeyProvider, _ policy: SigningPolicy, _ rate: CallRate<UInt32>, clock: any WallClock,
        report: @escaping @Sendable (SignerEvent) -> Void
    ) {
        self.provider = provider
        self.policy = policy
        self.rate = rate
        self.clock = clock
        self.report = report
    }

    var counts: [SignerCount] {
        state.withLock { $0.uses }.flatMap { name, uses in
            guard let record = SignerProtocol.record(named: name) else { return [SignerCount]() }
            return uses.counts.withLock { $0 }.map { user, count in
                SignerCount(user: user, kid: record.kid, use: record.use, count: count)
            }
        }
    }

    func begin(_ request: SignerRequest, for user: UInt32) -> Pending<Answer, Never> {
        guard rate.charge(user) else { return .done(.success(Answer(.busy, text: "more calls than signer.rate"))) }
        if request.operation != .load, let loaded = state.withLock({ $0.keys[request.key] }) {
            return use(loaded, request, user)
        }
        guard let record = SignerProtocol.record(named: request.key) else {
            return .done(.success(Answer(.refused, text: "the request names no key")))
        }
        return .coming { [self] in .success(await answer(request, user, loading: record)) }
    }

    private func answer(_ request: SignerRequest, _ user: UInt32, loading record: KeyRecord) async -> Answer {
        let present = request.operation == .load ? nil : state.withLock { $0.keys[request.key] }
        let loaded: Loaded
        do throws(KeyError) {
            // Another request may have loaded it meanwhile.
            if let present { loaded = present } else { loaded = try await load(record, request.key) }
        } catch {
            return failed(error, record)
        }
        guard request.operation == .load else {
            switch await use(loaded, request, user).result {
            case .success(let answer): return answer
            }
        }
        switch loaded.key {
        case .signing(let signing, _): return Answer(.done, signing.publicKey.json.octets)
        case .published(let published): return Answer(.done, published.json.octets)
        case .mac: return Answer(.done, [])
        }
    }

    private func use(_ loaded: Loaded, _ request: SignerRequest, _ user: UInt32) -> Pending<Answer, Never> {
        if let reason = refusal(of: request, by: loaded) {
            report(.refused(user: user, kid: loaded.record.kid, reason: reason))
            return .done(.success(Answer(.refused, text: reason)))
        }
        let made: Pending<[UInt8], KeyError> =
            switch loaded.key {
            case .signing(let key, _): key.beginSignature(over: request.message)
            case .mac(let key): key.beginTag(request.message)
            case .published: .done(.failure(.signer(.refused("the key is another replica's"))))
            }
        return made.then { [self] result in
            switch result {
            case .success(let octets):
                loaded.uses.counts.withLock { $0[user, default: 0] += 1 }
                return .success(Answer(.done, octets))
            case .failure(let error): return .success(failed(error, loaded.record))
            }
        }
    }

    private func load(_ record: KeyRecord, _ name: KeyName) async throws(KeyError) -> Loaded {
        do throws(KeyError) {
            let key: Loaded.Key
            if record.use == .accessToken {
                key = try await loadSigningKey(record)
            } else {
                key = .mac(try await provider.macKey(record))
            }
            return state.withLock { state in
                if state.keys.count >= Self.mostKeys { state.keys = [:] }
                let uses = state.uses[name] ?? Uses()
                let loaded = Loaded(record: record, key: key, uses: uses)
                (state.uses[name], state.keys[name]) = (uses, loaded)
                return loaded
            }
        } catch {
            // A key that was removed signs no more.
            if !error.isOutage { state.withLock { state in state.keys[name] = nil } }
            throw error
        }
    }

    /// If only the public half is here, the key is another replica's.
    private func loadSigningKey(_ record: KeyRecord) async throws(KeyError) -> Loaded.Key {
        do throws(KeyError) {
            let signing = try await provider.signingKey(record)
            return .signing(
                signing,
                headers: JWTType.allCases.map { TokenSigning.header(signing.algorithm, $0, record.kid) })
        } catch {
            guard !error.isOutage, let published = try? await provider.publicKey(record) else { throw error }
            return .published(published)
        }
    }

    private func refusal(of request: SignerRequest, by loaded: Loaded) -> String? {
        switch (loaded.key, request.operation) {
        case (.signing(_, let headers), .sign):
            policy.refusal(ofSigning: request.message, headers: headers, at: clock.now)
        case (.mac, .tag): policy.refusal(ofTagging: request.message, for: loaded.record.use)
        default: "a key for \(loaded.record.use.rawValue) does not do this"
        }
    }

    private func failed(_ error: KeyError, _ record: KeyRecord) -> Answer {
        report(.keyFailed(kid: record.kid, reason: error.description))
        return Answer(error.isOutage ? .outage : .unusable, text: error.description)
    }
}
