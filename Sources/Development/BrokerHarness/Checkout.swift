package import Foundation

/// The checkout that the tests run in.
package enum Checkout {
    package static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL

    /// What `deploy/packages --tests` makes or unpacks below `.build`.
    package static func unpacked(_ name: String) -> URL { root.appending(path: ".build/\(name)") }
}
