public import JOSE
public import NativeSSO

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
