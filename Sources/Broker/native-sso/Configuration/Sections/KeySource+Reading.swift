import IdentityProvider
import JOSE
import NativeSSO
import RegularFiles

extension KeySource {
    /// At most one of `discovery`, `jwks_uri` and `jwks_file`; without any, the discovery document of the issuer.
    init?(reading section: Section, issuer: Issuer?) {
        func url(_ text: String) throws(ValueDefect) -> ProviderURL {
            try ProviderURL(text, isDevelopment: section.isDevelopment)
        }
        let discovery = section.value(
            "discovery", .url, help: "The discovery document. By default that of `issuer`.", url)
        let keySetURL = section.value(
            "jwks_uri", .url, help: "The key set, fetched without a discovery document.", url)
        let keySetFile = section.filePath(
            "jwks_file", help: "The key set as a file, instead of one that is fetched.", Self.checkedFile)
        let hosts = Set(
            section.values(
                "jwks_hosts", .text("a host name"),
                help: "Hosts, beside its own, where the discovery document may place the key set.", Self.host
            ).map(\.value))
        let given = ["discovery", "jwks_uri", "jwks_file"].filter { section.isGiven($0) }
        for extra in given.dropFirst() {
            section.report(extra, "\(given[0]) is given as well, and there is one source of keys; remove one of them")
        }
        if section.isGiven("jwks_hosts"), given.contains("jwks_uri") || given.contains("jwks_file") {
            section.report("jwks_hosts", "belongs to discovery, and \(given[0]) is given; remove it")
        }
        let source: KeySource? =
            switch given.first {
            case "jwks_uri": keySetURL.map { .keySet($0) }
            case "jwks_file": keySetFile.map { .file(path: $0) }
            case "discovery": discovery.map { .discovery($0, keySetHosts: hosts) }
            default:
                issuer.flatMap { section.parsed($0.discoveryURL, at: section.place(of: "issuer"), url) }
                    .map { .discovery($0, keySetHosts: hosts) }
            }
        guard let source else { return nil }
        self = source
    }

    private static func checkedFile(_ path: String) throws(ValueDefect) -> String {
        let octets = try RegularFile.trusted(try PathText.absolute(path))
        guard !octets.isEmpty else { throw ValueDefect("the file is empty") }
        do throws(JSONWebKeySetError) {
            _ = try JSONWebKeySet(document: octets)
        } catch {
            throw ValueDefect("the file is no JSON Web Key Set that holds a key for signatures")
        }
        return path
    }

    private static func host(_ text: String) throws(ValueDefect) -> String {
        let url = try? WebURL("https://\(text)/", allowsLoopbackHTTP: false)
        guard let url, url.string.utf8.count == "https:///".utf8.count + url.host.utf8.count else {
            throw ValueDefect("write a host name alone, such as keys.example.com")
        }
        return url.host
    }
}
