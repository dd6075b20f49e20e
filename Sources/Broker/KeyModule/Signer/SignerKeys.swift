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
    typealias Answer = (status: SignerProtocol.Status, octets: [UInt8])

    private struct Loaded: Sendable {
        enum Key: Sendable {
            case signing(any SigningKey, headers: [(type: JWTType, octets: [UInt8])])
            case mac(any MessageAuthenticator)
            /// Of another replica.
            case published(JSONWebKey)
        }

        let record: KeyRecord
        let key: Key
    }

    private struct Use: Hashable {
        let user: UInt32
        let name: [UInt8]
    }

    private struct State {
        var keys: [[UInt8]: Loaded] = [:]
        var counts: [Use: Int64] = [:]
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
        state.withLock { state in
            state.counts.compactMap { use, count in
                SignerProtocol.record(named: use.name).map {
                    SignerCount(user: use.user, kid: $0.kid, use: $0.use, count: count)
                }
            }
        }
    }

    /// `nil`: the answer waits for the provider.
    func answerAtOnce(_ request: SignerRequest, for user: UInt32) -> Answer? {
        guard rate.charge(user) else { return (.busy, Array("more calls than signer.rate".utf8)) }
        guard request.operation != .load, let loaded = state.withLock({ $0.keys[request.key] }) else { return nil }
        if let reason = refusal(of: request, by: loaded) { return refuse(request, loaded.record, user, reason) }
        do throws(KeyError) {
            let octets: [UInt8]
            switch loaded.key {
            case .signing(let key as EVPSigningKey, _): octets = try key.signature(over: request.message)
            case .mac(let key as MACKey): octets = try key.tag(request.message)
            default: return nil
            }
            count(request, user)
            return (.done, octets)
        } catch {
            return failed(error, loaded.record)
        }
    }

    /// The same for what waits. The rate has counted it already.
    func answer(_ request: SignerRequest, for user: UInt32) async -> Answer {
        guard let record = SignerProtocol.record(named: request.key) else {
            return (.refused, Array("the request names no key".utf8))
        }
        do throws(KeyError) {
            let present = request.operation == .load ? nil : state.withLock { $0.keys[request.key] }
            let loaded: Loaded
            if let present { loaded = present } else { loaded = try await load(record, request.key) }
            if request.operation == .load {
                switch loaded.key {
                case .signing(let signing, _): return (.done, signing.publicKey.json.octets)
                case .published(let published): return (.done, published.json.octets)
                case .mac: return (.done, [])
                }
            }
            if let reason = refusal(of: request, by: loaded) { return refuse(request, record, user, reason) }
            let octets: [UInt8]
            switch loaded.key {
            case .signing(let key, _): octets = try await key.signature(over: request.message)
            case .mac(let key): octets = try await key.tag(request.message)
            case .published: throw .signer(.refused("the key is another replica's"))
            }
            count(request, user)
            return (.done, octets)
        } catch {
            return failed(error, record)
        }
    }

    private func load(_ record: KeyRecord, _ name: [UInt8]) async throws(KeyError) -> Loaded {
        do throws(KeyError) {
            let key: Loaded.Key
            if record.use == .accessToken {
                key = try await loadSigningKey(record)
            } else {
                key = .mac(try await provider.macKey(record))
            }
            let loaded = Loaded(record: record, key: key)
            state.withLock { state in
                if state.keys.count >= Self.mostKeys { state.keys = [:] }
                state.keys[name] = loaded
            }
            return loaded
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
                headers: JWTType.allCases.map { ($0, TokenSigning.header(signing.algorithm, $0, record.kid)) })
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

    private func refuse(_ request: SignerRequest, _ record: KeyRecord, _ user: UInt32, _ reason: String) -> Answer {
        report(.refused(user: user, kid: record.kid, reason: reason))
        return (.refused, Array(reason.utf8))
    }

    private func failed(_ error: KeyError, _ record: KeyRecord) -> Answer {
        report(.keyFailed(kid: record.kid, reason: error.description))
        return (error.isOutage ? .outage : .unusable, Array(error.description.utf8))
    }

    private func count(_ request: SignerRequest, _ user: UInt32) {
        state.withLock { $0.counts[Use(user: user, name: request.key), default: 0] += 1 }
    }
}
