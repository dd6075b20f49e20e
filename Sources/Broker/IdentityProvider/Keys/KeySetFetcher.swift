package import JOSE
package import NativeSSO
import RegularFiles

/// Fetches an issuer's key set for ``ProviderKeys``.
package protocol KeySetFetching: Sendable {
    /// Makes one attempt. Returns or throws within a few seconds.
    func fetch() async throws(KeySetFetchError) -> FetchedKeySet
}

/// A key set and the endpoints from the discovery document.
package struct FetchedKeySet: Sendable {
    package let keys: JSONWebKeySet
    /// From the discovery document, if any. Endpoints that receive codes and secrets must be on the document's own
    /// host.
    package var endpoints = ProviderEndpoints()
}

package struct KeySetFetcher: KeySetFetching {
    private let issuer: Issuer
    private let source: KeySource
    private let documents: DocumentClient
    private let allowsLoopbackHTTP: Bool

    /// - Parameter allowsLoopbackHTTP: For development: the discovery document may contain `http` URLs on loopback.
    package init(issuer: Issuer, source: KeySource, documents: DocumentClient, allowsLoopbackHTTP: Bool = false) {
        self.issuer = issuer
        self.source = source
        self.documents = documents
        self.allowsLoopbackHTTP = allowsLoopbackHTTP
    }

    package func fetch() async throws(KeySetFetchError) -> FetchedKeySet {
        switch source {
        case .discovery(let url, let hosts):
            let metadata = try await metadata(at: url, hosts: hosts)
            return FetchedKeySet(
                keys: try JSONWebKeySet(fetched: try await documents.get(metadata.jwksURI)),
                endpoints: metadata.endpoints.trusting(url.host))
        case .keySet(let url): return FetchedKeySet(keys: try JSONWebKeySet(fetched: try await documents.get(url)))
        case .file(let path): return FetchedKeySet(keys: try JSONWebKeySet(fetched: try Self.read(path)))
        }
    }

    /// Its keys can sign logins, so at every read it must be a regular file that is not world-writable.
    private static func read(_ path: String) throws(KeySetFetchError) -> [UInt8] {
        do throws(RegularFile.Failure) {
            let file = try RegularFile.read(path, limit: JSONWebKeySet.largestDocument)
            if !file.isWritableByAnyone { return file.octets }
        } catch {
            if case .tooLong = error { throw .tooLarge }
        }
        throw .unreadableFile
    }

    /// Fetched each time: an older document may be outdated.
    private func metadata(at url: ProviderURL, hosts: Set<String>) async throws(KeySetFetchError) -> ProviderMetadata {
        let document = try await documents.get(url)
        do throws(ProviderMetadataError) {
            return try ProviderMetadata(
                document: document, issuer: issuer, hosts: hosts.union([url.host]),
                allowsLoopbackHTTP: allowsLoopbackHTTP)
        } catch {
            throw .metadata(error)
        }
    }
}

extension JSONWebKeySet {
    package init(fetched document: [UInt8]) throws(KeySetFetchError) {
        do throws(JSONWebKeySetError) {
            self = try JSONWebKeySet(document: document)
        } catch {
            throw .keySet(error)
        }
    }
}

/// The source of an IdP's keys.
package enum KeySource: Sendable, Hashable {
    /// The discovery document, which contains the key set's URL. Allowed hosts: the document's own and `keySetHosts`.
    case discovery(ProviderURL, keySetHosts: Set<String> = [])
    case keySet(ProviderURL)
    /// A local file, for a broker without outgoing connections.
    case file(path: String)
}

/// Why a key set could not be loaded. Always an outage, never a refusal; the known keys stay in use.
package enum KeySetFetchError: Error, Sendable, Equatable {
    case timedOut
    /// The connection failed or broke. The text is the HTTP client's name for the error.
    case unreachable(String)
    /// No trusted CA signed the server's certificate, or it has expired or is another host's.
    case untrustedCertificate
    /// The server sent a redirect. It is not followed, because it could lead into the internal network.
    case redirected
    case status(Int)
    /// The body has a `Content-Encoding`, which is not decoded.
    case encoded
    case tooLarge
    case unreadableFile
    case metadata(ProviderMetadataError)
    case keySet(JSONWebKeySetError)
}

extension KeySetFetchError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .timedOut: "no answer in time"
        case .unreachable(let what): "unreachable: \(what)"
        case .untrustedCertificate:
            "its certificate is not trusted; if its CA is your own, write the CA's certificate into a file and name that file in "
                + "ca_file of this identity provider"
        case .redirected: "answered with a redirect, which is not followed"
        case .status(let status): "answered with status \(status)"
        case .encoded: "answered with a Content-Encoding, which is not decoded"
        case .tooLarge: "answered with too much"
        case .unreadableFile: "the file cannot be read"
        case .metadata(let error): "discovery: \(error)"
        case .keySet(let error): "key set: \(error)"
        }
    }
}
