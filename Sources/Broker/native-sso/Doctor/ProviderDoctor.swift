import IdentityProvider
import JOSE
import NativeSSO

/// What `doctor` asks of one identity provider.
struct ProviderDoctor {
    let provider: Configuration.IdentityProvider
    let isDevelopment: Bool

    func findings() async -> [Finding] {
        let documents = DocumentClient(authorities: provider.certificateAuthorities)
        let findings: [Finding]
        do throws(KeySetFetchError) {
            switch provider.keySource {
            case .discovery(let url, let hosts):
                let found = try await DiscoveredProvider.fetch(
                    provider.issuer, at: url, hosts: hosts, isDevelopment: isDevelopment, documents)
                findings = [reachable(nil), keys(found.keys), algorithms(found), claims(found)].compactMap(\.self)
            case .keySet, .file:
                let fetched = try await KeySetFetcher(
                    issuer: provider.issuer, source: provider.keySource, documents: documents,
                    allowsLoopbackHTTP: isDevelopment
                ).fetch()
                findings = [reachable(nil), keys(fetched.keys)]
            }
        } catch {
            findings = [reachable(error)]
        }
        try? await documents.shutdown()
        switch provider.keySource {
        case .discovery(let url, _), .keySet(let url):
            let end = await ServerCertificate.end(at: url)
            return findings + (end.map { [certificate($0, at: SystemClock().now)] } ?? [])
        case .file: return findings
        }
    }

    /// - Parameter end: When the first of the certificates that the identity provider shows expires.
    func certificate(_ end: UnixTime, at now: UnixTime) -> Finding {
        let notice = Seconds.days(14)
        return finding(
            "certificate", now.adding(notice) <= end, end < now ? .failed : .warning,
            "its certificate \(end < now ? "expired" : "expires") at \(end.rfc3339)",
            expected: "valid for \(DurationText.format(notice)) more",
            remedy: "ask its operator to renew it; once it has expired, no key is fetched there")
    }

    private func finding(
        _ check: String, _ isFine: Bool, _ severity: Finding.State, _ seen: String, expected: String,
        remedy: String
    ) -> Finding {
        Finding(
            "identity_provider.\(check)", isFine, severity, seen: "\(provider.issuer): \(seen)", expected: expected,
            remedy: remedy)
    }

    private func reachable(_ error: KeySetFetchError?) -> Finding {
        let remedy =
            switch error {
            case .untrustedCertificate: "name the CA's certificate in ca_file of this identity provider"
            case .metadata(.issuerMismatch):
                "write issuer octet by octet as the document has it, also a slash at its end"
            case .metadata(.foreignKeySetHost): "name the host of the key set in jwks_hosts"
            default: "look whether this machine reaches it: DNS, route, firewall, and the service itself"
            }
        return finding(
            "reachable", error == nil, .failed, error?.description ?? "reachable",
            expected: "a key set that can be fetched",
            remedy: remedy)
    }

    private func names(_ algorithms: some Sequence<SignatureAlgorithm>) -> String {
        algorithms.map(\.rawValue).joined(separator: ", ")
    }

    private func keys(_ keys: JSONWebKeySet) -> Finding {
        let without = provider.algorithms.filter { algorithm in !keys.keys.contains { $0.supports(algorithm) } }
        return finding(
            "keys", without.count < provider.algorithms.count, .failed,
            "\(keys.keys.count.counted("key"))"
                + (without.isEmpty ? "" : ", none of them for \(names(without))"),
            expected: "a key for one of its algorithms",
            remedy: "correct algorithms of this identity provider, or configure the algorithm there")
    }

    private func algorithms(_ found: DiscoveredProvider) -> Finding {
        let common = provider.algorithms.filter { own in found.algorithms.contains { $0.isSame(as: own) } }
        let further = found.algorithms.filter { own in !provider.algorithms.contains { $0.isSame(as: own) } }
        return finding(
            "algorithms", !common.isEmpty && further.isEmpty, common.isEmpty ? .failed : .warning,
            "it may sign with \(names(found.algorithms)); accepted: \(names(provider.algorithms))",
            expected: "every algorithm that it may sign id_tokens with is accepted",
            remedy: "write algorithms: [\(names(found.algorithms))], or restrict them at the identity provider")
    }

    /// `nil` if it does not say which claims it has, or if they are not needed.
    private func claims(_ found: DiscoveredProvider) -> Finding? {
        let enrols = provider.policy.enrolsByExchange || provider.codeRelay != nil
        guard let claims = found.claims, !enrols else { return nil }
        let hash = provider.policy.profiles.contains(.deviceID) ? ["ds_hash", "di_hash"] : ["ds_hash"]
        var missing = claims.contains("sid") ? [] : ["sid"]
        if !hash.contains(where: claims.contains) { missing.append(hash.joined(separator: " or ")) }
        return finding(
            "claims", missing.isEmpty, .warning,
            missing.isEmpty
                ? "its id_tokens have sid and a device hash" : "its id_tokens lack \(missing.joined(separator: ", "))",
            expected: "sid and the hash of the device value, which exchanges without enrolment need",
            remedy: "switch Native SSO on there, or write enrolment: exchange")
    }
}
