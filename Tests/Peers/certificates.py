"""Certificates for the TLS peers, created anew by each peer in a folder of its own."""

import datetime
import os
import ssl
import warnings

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import peer

NAMES = ("127.0.0.1", "localhost", "::1")


class Authority:
    """A certificate authority whose root is in a file that a client can be told to trust."""

    def __init__(self):
        self.folder = peer.temporary_folder()
        self._ca = trustme.CA(key_type=trustme.KeyType.ECDSA)
        self.path = os.path.join(self.folder, "ca.pem")
        self._ca.cert_pem.write_to_path(self.path)

    def context(self, *names, expired=False, alpn=("http/1.1",), issuer=None):
        """Returns a server context with a certificate for these names."""
        past = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=2)
        certificate = (issuer or self._ca).issue_cert(
            *(names or NAMES),
            **({"not_before": past - datetime.timedelta(days=30), "not_after": past} if expired else {}),
            key_type=trustme.KeyType.ECDSA,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        context.set_alpn_protocols(list(alpn))
        return context

    def files(self, *names):
        """Returns the paths of a chain and a key for these names, or the usual ones, for servers that read files."""
        return self._write(self._ca, *names)

    def files_of_intermediate(self, *names):
        """Returns the same of a certificate that an intermediate of the authority has signed. The chain has both."""
        return self._write(self._ca.create_child_ca(key_type=trustme.KeyType.ECDSA), *names)

    def _write(self, issuer, *names):
        certificate = issuer.issue_cert(*(names or NAMES), key_type=trustme.KeyType.ECDSA)
        prefix = os.path.join(self.folder, names[0] + "-" if names else "")
        chain, key = prefix + "chain.pem", prefix + "key.pem"
        certificate.private_key_and_cert_chain_pem.write_to_path(chain)
        certificate.private_key_pem.write_to_path(key)
        return chain, key

    def write_client(self, name, identity):
        """Writes a certificate for an identity, and its key, to a file."""
        certificate = self._ca.issue_cert(identity, key_type=trustme.KeyType.ECDSA)
        certificate.private_key_and_cert_chain_pem.write_to_path(os.path.join(self.folder, name))

    def old_context(self):
        """Returns a context with TLS 1.0 and 1.1 alone."""
        context = self.context()
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        return context

    def context_of_unknown_authority(self):
        return self.context(issuer=trustme.CA(key_type=trustme.KeyType.ECDSA))

    def context_without_alternative_name(self):
        """Returns a context with a certificate of the trusted root, with the common name localhost and no subjectAltName."""
        issuer_key = serialization.load_pem_private_key(self._ca.private_key_pem.bytes(), None)
        issuer = x509.load_pem_x509_certificate(self._ca.cert_pem.bytes())
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.timezone.utc)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]))
            .issuer_name(issuer.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
            )
            .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(issuer_key, hashes.SHA256())
        )
        chain = os.path.join(self.folder, "no-san.pem")
        with open(chain, "wb") as file:
            file.write(
                key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption(),
                )
            )
            file.write(certificate.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context
