public import JOSE
public import NativeSSO
import RegularFiles

/// How ``ProviderKeys`` gets a key set.
public protocol KeySetFetching: Sendable {
    /// One attempt. Returns or throws within a few seconds.
    func fetch() async throws(KeySetFetchError) -> FetchedKeySet
}

/// A key set, and what came with it.
public struct FetchedKeySet: Sendable {
    public let keys: JSONWebKeySet
    /// As the discovery document says, where there is one; those that codes and secrets are sent to on its own host only.
    public let endpoints: ProviderEndpoints

    public init(keys: JSONWebKeySet, endpoints: ProviderEndpoints = ProviderEndpoints()) {
        self.keys = keys
        self.endpoints = endpoints
    }
}

/// Fetches the key set of one issuer from its ``KeySource``.
public struct KeySetFetcher: KeySetFetching {
    private let issuer: Issuer
    private let source: KeySource
    private let documents: DocumentClient
    private let allowsLoopbackHTTP: Bool

    /// - Parameter allowsLoopbackHTTP: For development: the discovery document may name an `http` URL on loopback.
    public init(issuer: Issuer, source: KeySource, documents: DocumentClient, allowsLoopbackHTTP: Bool = false) {
        self.issuer = issuer
        self.source = source
        self.documents = documents
        self.allowsLoopbackHTTP = allowsLoopbackHTTP
    }

    public func fetch() async throws(KeySetFetchError) -> FetchedKeySet {
        switch source {
        case .discovery(let url, let hosts):
            let metadata = try await metadata(at: url, hosts: hosts)
            return FetchedKeySet(
                keys: try Self.keys(try await documents.get(metadata.jwksURI)),
                endpoints: metadata.endpoints.trusting(url.host))
        case .keySet(let url): return FetchedKeySet(keys: try Self.keys(try await documents.get(url)))
        case .file(let path): return FetchedKeySet(keys: try Self.keys(try KeySetFile.read(path)))
        }
    }

    private static func keys(_ document: [UInt8]) throws(KeySetFetchError) -> JSONWebKeySet {
        do throws(JSONWebKeySetError) {
            return try JSONWebKeySet(document: document)
        } catch {
            throw .keySet(error)
        }
    }

    /// Asked anew each time: what it said an hour ago binds nobody.
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

/// Where the keys of an identity provider come from.
public enum KeySource: Sendable, Hashable {
    /// The discovery document, which names the key set. `keySetHosts` adds to the host of the document.
    case discovery(ProviderURL, keySetHosts: Set<String> = [])
    /// The key set itself.
    case keySet(ProviderURL)
    /// A file on this machine, for a broker that may open no connection.
    case file(path: String)
}

/// Reads a key set from this machine. It decides whose tokens are believed, and is read again and again: whatever has its name by
/// then must be a regular file that not everybody may write.
enum KeySetFile {
    static func read(_ path: String) throws(KeySetFetchError) -> [UInt8] {
        do throws(RegularFile.Failure) {
            let file = try RegularFile.read(path, limit: JSONWebKeySet.largestDocument)
            if !file.isWritableByAnyone { return file.octets }
        } catch {
            if case .tooLong = error { throw .tooLarge }
        }
        throw .unreadableFile
    }
}

/// Why a key set could not be had. Always an outage, never a refusal; the keys that are known stay in use.
public enum KeySetFetchError: Error, Sendable, Equatable {
    case timedOut
    /// No connection, or it broke. The text is the HTTP client's name for it.
    case unreachable(String)
    /// A redirect was answered. It is not followed: it could point into the network.
    case redirected
    case status(Int)
    /// The body has a `Content-Encoding`. It is not inflated.
    case encoded
    /// The body is over the limit; the rest of it was not read.
    case tooLarge
    case unreadableFile
    case metadata(ProviderMetadataError)
    case keySet(JSONWebKeySetError)
}

/// For the log.
extension KeySetFetchError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .timedOut: "no answer in time"
        case .unreachable(let what): "unreachable: \(what)"
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
