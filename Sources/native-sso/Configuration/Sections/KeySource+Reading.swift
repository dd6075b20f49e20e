import JOSE
import NativeSSO
import RegularFiles

extension Configuration.KeySource {
    /// At most one of `discovery`, `jwks_uri` and `jwks_file`; without any, the discovery document of the issuer.
    init?(reading section: Section, issuer: Issuer?, isDevelopment: Bool) {
        func url(_ text: String) throws(ValueDefect) -> String {
            try WebURL(text, allowsLoopbackHTTP: isDevelopment).string
        }
        let discovery = section.value("discovery", url)
        let keySetURL = section.value("jwks_uri", url)
        let keySetFile = section.value("jwks_file", Self.checkedFile)
        let hosts = section.values("jwks_hosts", Self.host)?.map(\.value) ?? []
        let given = ["discovery", "jwks_uri", "jwks_file"].filter { section.isGiven($0) }
        for extra in given.dropFirst() {
            section.report(extra, "\(given[0]) is given as well, and there is one source of keys; remove one of them")
        }
        if section.isGiven("jwks_hosts"), given.contains("jwks_uri") || given.contains("jwks_file") {
            section.report("jwks_hosts", "belongs to discovery, and \(given[0]) is given; remove it")
        }
        switch given.first {
        case "jwks_uri": if let keySetURL { self = .keySetURL(keySetURL) } else { return nil }
        case "jwks_file": if let keySetFile { self = .keySetFile(keySetFile) } else { return nil }
        case "discovery": if let discovery { self = .discovery(discovery, keySetHosts: hosts) } else { return nil }
        default: if let issuer { self = .discovery(issuer.discoveryURL, keySetHosts: hosts) } else { return nil }
        }
    }

    /// The key set decides whose tokens are believed, so that nobody but its owner and group may write it.
    private static func checkedFile(_ path: String) throws(ValueDefect) -> String {
        let file = try RegularFile.contents(try PathText.absolute(path), limit: 1 << 20)
        guard !file.octets.isEmpty else { throw ValueDefect("the file is empty") }
        guard !file.isWritableByAnyone else { throw ValueDefect("everyone can write the file; run chmod o-w on it") }
        do throws(JSONWebKeySetError) {
            _ = try JSONWebKeySet(document: file.octets)
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
