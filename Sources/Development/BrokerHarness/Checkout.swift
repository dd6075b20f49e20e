package import Foundation

/// The checkout that the tests run in.
package enum Checkout {
    package static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
}
