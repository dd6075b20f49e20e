import JOSE
import NativeSSO
import StrictCoding

extension ProviderKeys {
    /// Which keys of an issuer count.
    enum Admissible {
        /// Those that are in the key set now: for what is said now.
        case current
        /// Those that have left it too, if the token was issued in their life: subject tokens may be old.
        case everLive
    }

    /// A token that a key of the issuer verified.
    struct Verified {
        let token: VerifiedJWS
        /// Whether that key is in the issuer's key set now.
        let isKeyCurrent: Bool
    }

    /// Verifies the signature of `token` with a key of this issuer. Suspends only where no known key explains it.
    func verify(
        _ token: CompactJWS, with admissible: Admissible = .everLive
    ) async throws(IDTokenVerificationError) -> Verified {
        var snapshot = snapshot
        if !isUsable(snapshot) { snapshot = await snapshotAfterMiss() }
        guard isUsable(snapshot) else { throw .outage(outage(snapshot)) }
        let first = try verify(token, with: admissible, in: snapshot)
        guard case .unexplained(var defect) = first else { return try first.get() }

        let newer = await snapshotAfterMiss()
        if newer.number != snapshot.number {
            let second = try verify(token, with: admissible, in: newer)
            guard case .unexplained(let remaining) = second else { return try second.get() }
            defect = remaining
        }
        // With the issuer out of reach nobody can say that it does not have this key.
        guard newer.failure == nil else { throw .outage(outage(newer)) }
        throw .refused(defect)
    }

    /// What the keys of one moment say of a token.
    private enum Finding {
        case verified(Verified)
        /// None of them made its signature. A key that was published since may have, even under the same name or
        /// under none: not every issuer gives a new key a new `kid`.
        case unexplained(SubjectTokenDefect)

        func get() throws(IDTokenVerificationError) -> Verified {
            switch self {
            case .verified(let token): return token
            case .unexplained(let defect): throw .refused(defect)
            }
        }
    }

    private func verify(
        _ token: CompactJWS, with admissible: Admissible, in snapshot: KeySnapshot
    ) throws(IDTokenVerificationError) -> Finding {
        var failure: JWSError
        switch Result(catching: { () throws(JWSError) in
            try token.verified(by: try snapshot.currentKey(for: token.header))
        }) {
        case .success(let verified):
            guard !snapshot.history.isRevoked(verified.key) else { throw .refused(.keyRevoked) }
            return .verified(Verified(token: verified, isKeyCurrent: true))
        case .failure(let error): failure = error
        }
        // Only what another key of the same name could mend.
        guard [.unknownKey, .keyDoesNotFitAlgorithm, .badSignature].contains(failure) else {
            throw .refused(SubjectTokenDefect(failure))
        }
        for life in snapshot.retiredKeys(for: token.header) {
            switch Result(catching: { () throws(JWSError) in try token.verified(by: life.key) }) {
            case .success(let verified):
                try check(life, admissible, for: verified, in: snapshot)
                return .verified(Verified(token: verified, isKeyCurrent: false))
            case .failure(.badSignature): if failure == .unknownKey { failure = .badSignature }
            case .failure(let error): throw .refused(SubjectTokenDefect(error))
            }
        }
        return .unexplained(SubjectTokenDefect(failure))
    }

    /// Whether a token may be verified by a key that has left the key set.
    private func check(
        _ life: ArchivedKey, _ admissible: Admissible, for token: VerifiedJWS, in snapshot: KeySnapshot
    ) throws(IDTokenVerificationError) {
        guard !snapshot.history.isRevoked(life.key) else { throw .refused(.keyRevoked) }
        guard admissible == .everLive, settings.honoursRetiredKeys,
            let issuedAt = token.claims.number("iat")?.wholeSeconds,
            life.wasLive(at: UnixTime(seconds: issuedAt), tolerance: lifeTolerance)
        else { throw .refused(.keyRetired) }
    }

    private func outage(_ snapshot: KeySnapshot) -> Outage {
        if !snapshot.isArchiveRead { return Outage(.database, "key archive of \(issuer) not read yet") }
        let reason = snapshot.failure.map { "\($0)" } ?? "not fetched yet"
        return Outage(.identityProvider, "key set of \(issuer): \(reason)")
    }
}
